package stream

import (
	"testing"
	"time"
	_ "time/tzdata" // not every machine knows the zones
)

func TestRetryTime(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 20, 14, 0, 0, 0, time.UTC)
	at := func(day, hour, minute int) time.Time { return time.Date(2026, 11, day, hour, minute, 0, 0, time.UTC) }
	tests := map[string]struct {
		text string
		now  time.Time
		want time.Time
	}{
		"a clock time with a zone":             {"You’ve hit your limit · resets 4pm (Europe/Berlin)", now, at(20, 15, 0)},
		"that has passed there today":          {"resets 2pm (Europe/Berlin)", now, at(21, 13, 0)},
		"with minutes":                         {"limit reached ∙ resets 3:30pm (America/New_York)", now, at(20, 20, 30)},
		"in UTC":                               {"resets at 16:05 UTC", now, at(20, 16, 5)},
		"without a zone, in that of the clock": {"try again at 5:19 PM.", now.In(berlin), at(20, 16, 19)},
		"twelve at night":                      {"resets 12am (UTC)", now, at(21, 0, 0)},
		"twelve at noon":                       {"resets 12pm (UTC)", now, at(21, 12, 0)},
		"tomorrow":                             {"try again tomorrow at 7am (UTC)", now, at(21, 7, 0)},
		"another day":                          {"or try again at Nov 23rd, 2026 7:21 AM.", now, at(23, 7, 21)},
		"another day without a year":           {"your limit resets Nov 22 at 9am (UTC)", now, at(22, 9, 0)},
		"a day of the next year": {"resets Jan 2, 9am (UTC)", at(30, 0, 0),
			time.Date(2027, 1, 2, 9, 0, 0, 0, time.UTC)},
		"an unknown time zone": {"resets 3pm (Mars/Phobos)", now, time.Time{}},
		"in seconds":           {"Please try again in 20s", now, now.Add(20 * time.Second)},
		"in fractions":         {"Please retry in 41.5s.", now, now.Add(41500 * time.Millisecond)},
		"in minutes, in words": {"try again in 5 minutes", now, now.Add(5 * time.Minute)},
		"in hours and minutes": {"retry after 1h30m", now, now.Add(90 * time.Minute)},
		"in hours and minutes, in words": {"try again in about 2 hours and 5 minutes", now,
			now.Add(125 * time.Minute)},
		"in days":                                 {"try again in 3 days", now, now.Add(72 * time.Hour)},
		"as a header":                             {"retry-after: 60", now, now.Add(time.Minute)},
		"as a header in JSON":                     {`{"retry-after":"60"}`, now, now.Add(time.Minute)},
		"a stamp":                                 {"available at 2026-11-20T18:00:00Z", now, at(20, 18, 0)},
		"a stamp with an offset":                  {"resets 2026-11-20 19:00:00+01:00", now, at(20, 18, 0)},
		"an epoch":                                {"Claude AI usage limit reached|1795201200", now, at(20, 19, 0)},
		"an epoch in milliseconds":                {`"resets_at": 1795201200000`, now, at(20, 19, 0)},
		"one that has passed":                     {"usage limit reached|1700000000", now, time.Time{}},
		"one beyond belief":                       {"try again in 400 days", now, time.Time{}},
		"a number without a unit of time":         {"resets 5 of your limits", now, time.Time{}},
		"an hour that there is not":               {"resets 25:00 (UTC)", now, time.Time{}},
		"no time":                                 {"Please wait and try again later.", now, time.Time{}},
		"a narrow space before the half of a day": {"try again at 5:19\u202fPM", now, at(20, 17, 19)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := RetryTime(tt.text, tt.now)
			if ok == tt.want.IsZero() || !got.Equal(tt.want) {
				t.Errorf("%q: %v, %v; want %v", tt.text, got, ok, tt.want)
			}
		})
	}
}
