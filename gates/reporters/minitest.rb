# A plugin of Minitest: it writes one JSON object a line for each test that ended, a file for each process.
require "json"

module Minitest
  class RunplanReporter < AbstractReporter
    def initialize(file)
      super()
      @file = file
      @lines = []
    end

    def record(result)
      path, line = result.source_location
      status = if result.skipped? then "skip" elsif result.passed? then "pass" else "fail" end
      # A spec is numbered by its place, and a new one before it must not rename it.
      name = result.name.sub(/\Atest_\d{4}_/, "test_")
      entry = { name: "#{result.klass}##{name}", path: path.to_s, line: line.to_i, status: status }
      if status == "fail"
        failure = result.failures.first
        entry[:message] = failure.message.to_s.scrub
        at = failure.location.to_s.match(/\A(.+):(\d+)/)
        entry[:line] = at[2].to_i if at && File.expand_path(at[1]) == File.expand_path(path.to_s)
      end
      @lines << JSON.generate(entry)
    end

    def report
      File.write(@file, (@lines << '{"end":true}').join("\n") + "\n")
    end

    def passed?
      true
    end
  end

  def self.plugin_runplan_init(_options)
    folder = ENV.delete("RUNPLAN_TEST_REPORT") # a suite that a test starts is no part of this one
    reporter << RunplanReporter.new(File.join(folder, "#{Process.pid}.report")) if folder && File.directory?(folder)
  end
end
