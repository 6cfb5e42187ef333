# Makes the calls of a plan and compares their results with those that the plan shows.
require "json"
require "set"

mark, list = ARGV.slice!(0, 2)
WORDS = { "None" => "nil", "null" => "nil", "undefined" => "nil", "True" => "true", "False" => "false" }.freeze

def load_file(path)
  dir = File.dirname(File.expand_path(path))
  dir = File.dirname(dir) until File.basename(dir) == "lib" || File.dirname(dir) == dir
  if File.basename(dir) == "lib"
    $LOAD_PATH.unshift(dir)
    gems = Dir[File.join(dir, "..", "*.gemspec")].map { |spec| File.basename(spec, ".gemspec") }
    gems << File.expand_path(path)[dir.size + 1..][%r{[^/]+(?=/)}] # lib/a.rb of lib/a/b.rb
    gems.compact.uniq.each { |gem| load_gem(dir, gem) }
  end
  require File.expand_path(path)
end

# Loads a gem as its users do. A gem that cannot be loaded, since another gem is missing, may have a file that can.
def load_gem(dir, name)
  [name, name.tr("-", "/"), name.tr("-", "_")].uniq.find { |n| File.exist?(File.join(dir, n + ".rb")) && require(n) }
rescue Exception
  nil
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
  scope = TOPLEVEL_BINDING.dup
  begin
    setup = c["setup"].to_s.gsub(/^(require .*)$/, "begin; \\1; rescue LoadError; end")
    scope.eval(setup)
  rescue Exception => e
    return ["unknown", "the code before it raises #{e.class}: #{e.message}"]
  end
  begin
    got = scope.eval(c["call"])
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
  ["differs", "it returns #{got.inspect}", got.inspect, got.to_s]
end

JSON.parse(list).each_with_index do |c, i|
  state, what, shown, text = run(c).map { |t| t.to_s[0, 300] }
  $stdout.puts "\n" + mark + JSON.generate(case: i, state: state, what: what, shown: shown, text: text)
  $stdout.flush
end
exit!(0)
