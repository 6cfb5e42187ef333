# Makes the calls of a plan and compares their results with those that the plan shows.
require "json"
require "set"

mark, list = ARGV.slice!(0, 2)
WORDS = { "None" => "nil", "null" => "nil", "undefined" => "nil", "True" => "true", "False" => "false" }.freeze

def load_file(path)
  dir = File.dirname(File.expand_path(path))
  dir = File.dirname(dir) until File.basename(dir) == "lib" || File.dirname(dir) == dir
  $LOAD_PATH.unshift(dir) if File.basename(dir) == "lib"
  require File.expand_path(path)
end

def same(got, want)
  got = got.to_a if got.is_a?(Enumerator)
  return (got - want).abs <= 1e-9 * want.abs if got.is_a?(Float) && want.is_a?(Numeric)
  return got.to_h { |k, v| [k.to_s, v] } == want.to_h { |k, v| [k.to_s, v] } if got.is_a?(Hash) && want.is_a?(Hash)
  got == want
end

def run(c)
  begin
    load_file(c["file"])
  rescue Exception => e
    return ["unknown", "#{c["file"]} cannot be loaded: #{e.class}: #{e.message}"]
  end
  begin
    got = TOPLEVEL_BINDING.eval(c["call"])
  rescue Exception => e
    own = e.backtrace.to_a.none? { |l| l.start_with?(Dir.pwd + "/") && !l.include?("(eval)") }
    return ["holds", ""] if c["raises"] == "error" && !own
    return ["holds", ""] if c["raises"] && e.class.ancestors.any? { |k| k.to_s == c["raises"] || k.to_s.end_with?("::" + c["raises"]) }
    if e.is_a?(SyntaxError) || e.is_a?(SystemCallError) || own && (e.is_a?(NameError) || e.is_a?(ArgumentError))
      return ["unknown", "#{e.class}: #{e.message}"]
    end
    return ["differs", "it raises #{e.class}: #{e.message}"]
  end
  return ["differs", "it returns #{got.inspect}"] if c["raises"]
  begin
    want = TOPLEVEL_BINDING.eval(WORDS.fetch(c["want"], c["want"]))
  rescue Exception
    want = c["want"]
  end
  return ["holds", ""] if same(got, want) || c["printed"] && got.to_s == c["want"] || want.is_a?(String) && !got.is_a?(String) && got.to_s == want
  ["differs", "it returns #{got.inspect}"]
end

JSON.parse(list).each_with_index do |c, i|
  state, what = run(c)
  $stdout.puts "\n" + mark + JSON.generate(case: i, state: state, what: what[0, 300])
  $stdout.flush
end
exit!(0)
