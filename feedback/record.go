package feedback

import "context"

// RecordPR records the change request of a fix that a person opened by hand.
func (d *Driver) RecordPR(ctx context.Context, id, url string) (Item, error) {
	i, s, err := d.at(ctx, id)
	if err != nil {
		return i, err
	}
	switch {
	case urlForm.FindString(url) != url || url == "":
		return i, refuse("give it with --pr https://…/pull/N", "%q is not the URL of a pull request", oneLine(url))
	case i.Status == PROpen && s.pr != nil && s.pr.URL == url:
		return i, nil
	case i.Status != InFix || s.review == nil || !s.review.ok():
		return i, refuse("runplan self-fix show "+id+" shows its state",
			"feedback %s has no reviewed fix that waits for a change request: it is %s", id, i.Status)
	}
	p := Published{Branch: s.fix.Branch, Base: s.fix.Into, URL: url}
	if s.pr != nil {
		p.Remote = s.pr.Remote
	}
	i, _, err = d.note(ctx, i, PROpen, i.Approval, StagePublish, "opened by hand: "+url, p)
	return i, err
}
