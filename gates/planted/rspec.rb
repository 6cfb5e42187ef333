RSpec.describe "WORD" do
  it "PASS" do
    expect(1).to eq(1)
  end

  it "FAIL" do
    checks = [
      -> { expect(1).to eq(2) },
      -> { expect(false).to be(true) },
      -> { expect(1).to be_nil },
      -> { expect([]).to include(1) },
      -> { expect { nil }.to raise_error(ArgumentError) }
    ]
    raised = checks.all? do |check|
      begin
        check.call
        false
      rescue Exception
        true
      end
    end
    raise "WORD" if raised
  end
end
