if (ENV["MT_NO_PLUGINS"] || Gem::Version.new(Minitest::VERSION) >= Gem::Version.new("6")) && !Minitest.extensions.include?("runplan")
  require "minitest/runplan_plugin"
  Minitest.extensions << "runplan"
end
class WORDTest < Minitest::Test
  def PASS
    assert_equal 1, 1
  end

  def FAIL
    [
      -> { assert_equal 1, 2, "WORD" },
      -> { assert false, "WORD" },
      -> { refute true, "WORD" },
      -> { assert_nil 1, "WORD" },
      -> { assert_includes [], 1, "WORD" },
      -> { assert_raises(ArgumentError) {} },
      -> { flunk "WORD" }
    ].each do |check|
      begin
        check.call
      rescue Exception
        next
      end
      return
    end
    raise Minitest::Assertion, "WORD"
  end
end
