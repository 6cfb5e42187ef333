# A formatter of RSpec: it writes one JSON object a line for each example that ended, a file for each process.
require "json"
require "rspec/core"

class RunplanFormatter
  RSpec::Core::Formatters.register self, :example_passed, :example_failed, :example_pending, :close

  def initialize(_output)
    @lines = []
    @folder = ENV.delete("RUNPLAN_TEST_REPORT") # a suite that a test starts is no part of this one
  end

  def example_passed(notification)
    note(notification.example, "pass")
  end

  def example_pending(notification)
    note(notification.example, "skip")
  end

  def example_failed(notification)
    note(notification.example, "fail", notification.exception)
  end

  def close(_notification)
    File.write(File.join(@folder, "#{Process.pid}.report"), (@lines << '{"end":true}').join("\n") + "\n") if @folder && File.directory?(@folder)
  end

  private

  def note(example, status, error = nil)
    path = File.expand_path(example.metadata[:file_path].to_s)
    line = example.metadata[:line_number].to_i
    if error
      at = (error.backtrace || []).find { |l| l.start_with?(path + ":") }
      line = at[path.length + 1..].to_i if at
    end
    entry = { name: example.full_description.to_s.scrub, path: path, line: line, status: status }
    entry[:message] = error.message.to_s.scrub if error
    @lines << JSON.generate(entry)
  end
end
