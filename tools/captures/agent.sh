#!/usr/bin/env bash
# The agent of the captures: it prints what claude prints, and writes the file of its batch.
brief=$(cat)
say() { printf '{"type":"assistant","message":{"id":"m%s","role":"assistant","content":[{"type":"text","text":"%s"}],"usage":{"input_tokens":900,"output_tokens":40}}}\n' "$RANDOM" "$1"; }
result() { printf '{"type":"result","subtype":"success","is_error":%s,%s"num_turns":3,"result":"%s","total_cost_usd":%s,"usage":{"input_tokens":900,"output_tokens":410}}\n' "$1" "$2" "$3" "$4"; }
mkdir -p src
case $brief in
*"a limit is met"*)
	result true '"api_error_status":429,' "API Error: 429 rate limit" 0
	exit 1 ;;
*"a bad file"*)
	say "Writing src/draft.txt"
	echo "TODO: the second half" >src/draft.txt ;;
*)
	say "Reading the code around batch $RUNPLAN_BATCH"
	sleep "$((RUNPLAN_BATCH * 2))"
	say "Writing src/$RUNPLAN_BATCH.txt"
	echo "batch $RUNPLAN_BATCH" >"src/$RUNPLAN_BATCH.txt" ;;
esac
result false "" "Done as the plan says." 0.04
