package planparse

import (
	"bytes"
	"slices"
	"strings"
)

// Boxes below "Success Criteria" or "**Acceptance gate:**" refer to finished work: they are not work.

// lookBack reports for each mark whether it is a box about finished work: below a heading with such a title, at any
// depth, or, in a phase, in the list directly below such a bold label. kind is the kind of phases.
func (b *builder) lookBack(kind unitKind, says func(title string, inPhase bool) bool) map[*mark]bool {
	back := map[*mark]bool{}
	criteria := func(h *mark) bool { return namesCriteria(plain(h.text)) } // "### Phase 1" below them is no phase
	phase := func(h *mark) bool { return h.unit.ok && h.unit.kind == kind && h.below(criteria) == nil }
	label := false
	for _, m := range b.marks {
		switch {
		case m.kind == markHeading:
			label = false
		case m.kind == markBox:
			back[m] = label
			for h := m.head; h != nil && !phase(h) && !back[m]; h = h.head {
				back[m] = says(plain(h.text), h.below(phase) != nil)
			}
		case m.kind == markText && m.parent == nil && len(m.text) > 0:
			label = boldLabel(m.text) && m.below(phase) != nil && says(string(m.text), true)
		}
	}
	return back
}

// boldLabel reports whether a line is only a bold text that ends in a colon: "**Acceptance gate:**".
func boldLabel(text []byte) bool {
	inner, found := bytes.CutPrefix(bytes.TrimSpace(text), []byte("**"))
	if !found {
		return false
	}
	inner = bytes.TrimRight(inner, " ")
	for _, end := range []string{":**", "：**", "**:", "**："} {
		if rest, ok := bytes.CutSuffix(inner, []byte(end)); ok {
			return !bytes.Contains(rest, []byte("**"))
		}
	}
	return false
}

// looksBack reports whether a heading says that the boxes below it are not work. Below a phase, more headings do.
func looksBack(title string, inPhase bool) bool {
	return isChecklist(title) || inPhase && isCheck(title)
}

// isChecklist reports whether a heading says that the boxes below it are not work.
func isChecklist(title string) bool {
	return namesCriteria(title) || isLater(title) ||
		containsAny(strings.ToLower(title), "checklist", "post-completion", "self-review", "sign-off", "signoff",
			"kpi", "next step", "dependencies", "检查清单", "檢查清單", "下一步", "チェックリスト", "체크리스트", "checkliste", "чек-лист")
}

// isLater reports whether a heading says that the boxes below it are not work of this plan.
func isLater(title string) bool {
	return containsAny(strings.ToLower(title), "out of scope", "future work", "future enhancement", "future improvement",
		"future feature", "future idea", "future phase", "future option", "post-mvp", "将来", "未来", "향후", "futuras", "futuros",
		"évolutions futures")
}

// isCheck also accepts titles of sections that refer to finished work only if they are below a phase.
func isCheck(title string) bool {
	return containsAny(strings.ToLower(title), "verifica", "verifik", "validation", "acceptance", "success", "results",
		"metrics",
		"gate", "summary",
		"验证", "驗證", "验收", "驗收", "検証", "검증", "überprüfung", "vérifica", "проверка")
}

// namesCriteria reports whether a heading or label names criteria for finished work. In OpenSpec plans, a "Completion
// checklist" is work, and the acceptance criteria are not.
func namesCriteria(title string) bool {
	title = strings.ToLower(title)
	begins := func(word string) bool { return strings.HasPrefix(title, word) } // "2. Prerequisites" may install them
	return slices.ContainsFunc([]string{"prerequisite", "appendix", "anhang", "annexe", "apéndice", "apêndice", "附录", "付録",
		"부록"}, begins) || title == "requirements" || containsAny(title, "criteria", "definition of done",
		"acceptance gate", "success metrics", "success indicators", "qa results", "indicateurs de succès",
		"indicadores de éxito", "indicadores de sucesso", "erfolgsindikatoren", "open question", "offene fragen",
		"验收标准", "驗收標準", "验收条件", "成功标准", "成功標準", "完成标准", "完成標準", "受け入れ基準", "受入基準", "完了条件", "成功基準", "인수 조건", "완료 조건",
		"완료 기준", "성공 기준", "kriterien", "criterios", "critérios", "critères", "criteri di", "критерии")
}

// namesGoals reports whether a heading announces goals.
func namesGoals(title string) bool {
	return slices.Contains([]string{"goals", "goal and constraints", "goals and constraints", "objectives", "ziele",
		"objetivos", "objectifs", "目标", "目標", "목표"}, bareTitle(title))
}
