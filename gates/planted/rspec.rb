RSpec.describe "WORD" do
  it "PASS" do
    raise "WORD" unless 1 + 1 == 2
  end

  it "FAIL" do
    checks = []
    if respond_to?(:expect)
      checks += [
        -> { expect(1).to eq(2) },
        -> { expect(false).to be(true) },
        -> { expect(1).to be_nil },
        -> { expect([]).to include(1) },
        -> { expect { nil }.to raise_error(ArgumentError) }
      ]
    end
    if SHOULD && respond_to?(:should)
      checks += [
        -> { 1.should eq(2) },
        -> { 1.should == 2 },
        -> { 1.should be_nil },
        -> { [].should include(1) },
        -> { 1.should_not eq(1) }
      ]
    end
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
