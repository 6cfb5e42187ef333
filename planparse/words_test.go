package planparse

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestPlansInOtherLanguages(t *testing.T) {
	checkSketches(t, map[string]sketchCase{
		"tasks and steps with a blank before the number": {
			in: in("# P", "### Aufgabe 1: A", "- [ ] **Schritt 1: a**", "### Tarea 2: B", "**Paso 1: b**", "### Tâche 3 : C",
				"**Étape 1 : c**",
				"### Tarefa 4: D", "**Passo 1: d**", "### Attività 5: E", "### Задача 6. F", "**Шаг 1: f**"),
			want: "superpowers 1(1:1) 2(2:1) 3(3:1) 4(4:1) 5(5:0) 6(6:1)",
		},
		"tasks and steps, where none does": {
			in: in("# P", "### 任务 1：A", "- [x] **步骤 1：a**", "### 任務2：B", "**步驟 1：b**", "### タスク3: C", "**ステップ1: c**",
				"### 작업 4: D", "**1단계: d**", "**2단계: e**"),
			want: "superpowers 1(1:1+) 2(2:1) 3(3:1) 4(4:2)",
		},
		"phases with the number behind or before the word": {
			in: in("# P", "## 阶段 1：A", "## 阶段二：B", "## 第三阶段：C", "## 第4段階: D", "## フェーズ5: E", "## 6단계: F", "## フェイズ１１：K",
				"## 第十二阶段",
				"## Fase 13: G", "## Фаза 14: H"),
			want: "phases <phase 1> <phase 2> <phase 3> <phase 4> <phase 5> <phase 6> <phase 11> <phase 12> <phase 13> <phase " +
				"14> 1() " +
				"2() 3() 4() 5() 6() 11() 12() 13() 14()",
		},
		"a number before the word": {
			in: in("# P", "## 1. Goals", "text", "## 2. Phase 1: A", "text", "## 3.1 第二阶段：B", "text", "## 4. Phases", "text",
				"## 2026 — Phase 9: C", "text"),
			want: "phases <phase 1> <phase 2> 1() 2()",
		},
		"stages, epics and modules": {
			in:   in("# P", "## Stufe A – a", "text", "## Эпик 2: b", "text", "## Módulo 3 — c", "text", "## 模块4：d", "text"),
			want: "phases <stage A> <epic 2> <module 3> <module 4> A() 2() 3() 4()",
		},
		"phases and stages of more languages": {
			in: in("# P", "## Fas 1: a", "text", "## Faza 2 — b", "text", "## Tahap 3: c", "text", "## GIAI ĐOẠN 4: d", "text",
				"## Giai đoạn triển khai", "text"), want: "phases <phase 1> <phase 2> <phase 3> <phase 4> 1() 2() 3() 4()",
		},
		"lists of steps in more languages": {
			in:   in("# P", "## 4. Etappen (ab Mai)", "1. a", "2. b", "## Plan de trabajo", "1. c", "2. d"),
			want: "superpowers 1(1:0) 2(2:0) 1-2(1:0) 2-2(2:0)", codes: "list-as-tasks@3 duplicate-id@6 duplicate-id@7",
		},
		"iterations": {
			in: in("# P", "## Итерация 1: a", "- [ ] x", "## Iteración 2: b", "- [x] y"), want: "superpowers 1(1:1) 2(2:1+)",
		},
		"phases hold tasks, and batches are batches": {
			in:   in("# P", "## 批次 1：A", "### 任务 1：a", "## 批次 2 — B", "### 任务 2：b"),
			want: "run-plan <batch 1> <batch 2> 1(1:0) 2(2:0)",
		},
		"steps alone are tasks": {
			in: in("# P", "## 第一步：A", "text", "## 第二步：B"), want: "superpowers 1(1:0) 2(2:0)", codes: "steps-as-tasks@2",
		},
		"headings that only begin with such a word open nothing": {
			in: in("# P", "## 任务清单", "## 任务依赖", "## 阶段划分", "## 第一", "## 第九十九十阶段", "## 3 天", "## Aufgaben", "## Fasen",
				"### Task 1: A"), want: "superpowers 1(1:0)",
		},
	})
}

func TestLabelsInOtherLanguages(t *testing.T) {
	for name, c := range map[string]struct {
		in      string
		files   Files
		command []Command
	}{
		"Chinese": {
			in("**文件：**", "- 创建：`a.go`", "- 修改：`b.go:3-7`", "- 测试：`c.go`", "", "运行：`make`", "预期：测试通过"),
			Files{Create: []string{"a.go"}, Modify: []string{"b.go"}, Test: []string{"c.go"}},
			[]Command{{Run: "make", Expected: "PASS", Line: 8}},
		},
		"Korean": {
			in("**파일:** `a.go`, `b.go`", "", "- [ ] `c.go`를 읽는다", "", "Run: `make`", "기대 결과: 클래스가 없으므로 FAIL."),
			Files{Modify: []string{"a.go", "b.go"}}, []Command{{Run: "make", Expected: "FAIL", Line: 7}},
		},
		"Japanese, with an expectation that only people can judge": {
			in("**対象ファイル**: `a.go`", "- 新規作成: `b.go`", "- 削除：`c.go`", "", "実行: `make`", "期待: 画面が表示される"),
			Files{Create: []string{"b.go"}, Modify: []string{"a.go"}, Delete: []string{"c.go"}},
			[]Command{{Run: "make", Expected: "", Line: 7}},
		},
		"Japanese, a line in italics": {
			in("- _対象ファイル: src/task.ts（createTask関数内）, src/task.test.ts_", "- _Modify:_ `b.go`"),
			Files{Modify: []string{"src/task.ts", "src/task.test.ts", "b.go"}}, nil,
		},
		"Spanish": {
			in("**Archivos:**", "- Crear: `a.go`", "- Modificar: `b.go`", "", "Ejecutar: `make`", "Esperado: PASS"),
			Files{Create: []string{"a.go"}, Modify: []string{"b.go"}}, []Command{{Run: "make", Expected: "PASS", Line: 7}},
		},
		"French, with a blank before the colon": {
			in("**Fichiers** :", "- Créer : `a.go`", "- src/b.go ligne 51 : ajouter"),
			Files{Create: []string{"a.go"}, Modify: []string{"src/b.go"}}, nil,
		},
	} {
		b := parse(t, in("### Task 1: A", "")+c.in).Batches[0]
		want := Files{filled(c.files.Create), filled(c.files.Modify), filled(c.files.Test), filled(c.files.Delete)}
		if diff := cmp.Diff(want, b.Files); diff != "" {
			t.Errorf("%s: files (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(filled(c.command), b.Commands, cmpopts.IgnoreFields(Command{}, "Said")); diff != "" {
			t.Errorf("%s: commands (-want +got):\n%s", name, diff)
		}
	}
}

func TestUnitsInOtherNotations(t *testing.T) {
	checkSketches(t, map[string]sketchCase{
		"an id may be its own keyword": {
			in:   in("# P", "### T1: A", "### T-002 — B", "### T003 [P]", "### T4 plain text", "### T-Shirts: no"),
			want: "superpowers T1(T1:0) T-002(T-002:0) T003(T003:0)",
		},
		"spec-kit: ids of one digit": {
			in: in("# P", "## Phase 1: A", "- [x] T1: a", "- [ ] **T2**: b", "- [ ] T3. c", "- [ ] T4 [P] d",
				"- [ ] T5 mapping", "- [ ] T10 e"),
			want: "spec-kit <phase 1> 1(T1:0+ T2:0 T3:0 T4:0 T10:0) loose:1", codes: "unassigned-boxes@7",
		},
		"a tag before the keyword": {
			in:   in("# P", "### Phase 1: A [Complexity: S]", "#### [docs] Task 1.1: a", "- [ ] x"),
			want: "superpowers <phase 1> 1.1(1.1:1)",
		},
		"slices, commits and stories are tasks where there are no others": {
			in: in("# P", "## Slice 1: A", "text", "## Commit 2: B", "## PR 3 — C", "## Story 1.1: D", "- [ ] a",
				"## US-001: E", "- [x] b"),
			want: "superpowers 1(1:0) 2(2:0) 3(3:0) 1.1(1.1:1) US-001(US-001:1+)",
		},
		"stories that introduce the phases are no tasks": {
			in:   in("# P", "### US-001: A", "### US-002: B", "## Phase 1: C", "text", "## Phase 2: D", "text"),
			want: "phases <phase 1> <phase 2> 1() 2()",
		},
		"nor are those that hold less of the boxes than others": {
			in:   in("# P", "## Story 1: A", "- [ ] a", "## Story 2: B", "## 3. C", "- [ ] c", "- [ ] d", "- [ ] e"),
			want: "openspec <section 3> story-1-a(:0) 3(:0 :0 :0)", codes: "section-without-boxes@4",
		},
		"boxes that say what they are count, whatever other boxes there are": {
			in: in("# P", "## Requirements", "- [ ] a", "- [ ] b", "- [ ] c", "## Plan", "- [ ] **Unit 1: A**", "",
				"**Files:**", "- Modify: `x.go`", "", "- [x] **Unit 2: B**"),
			want: "kiro 1(1:0) 2(2:0+) loose:3", codes: "unassigned-boxes@3",
		},
		"milestones in a phase are its sections, and the phase itself is not work": {
			in: in("# P", "## Phase 1: A", "An introduction.", "### Milestone 1 – B", "- [ ] b", "### Milestone 2 – C",
				"- [x] c", "## Phase 2: D", "- [ ] d"),
			want: "openspec <phase 1> <milestone 1> <milestone 2> <phase 2> 1(:0) 2(:0+) 2-2(:0)", codes: "duplicate-id@8",
		},
		"a file whose title is a task and that holds no other unit is that task": {
			in:   in("# Task ID: 11", "", "**Title:** Make it", "**Status:** pending", "", "## Details", "text"),
			want: "superpowers 11(11:0)",
		},
		"Task Master writes subtasks as numbered headings": {
			in: in("# Task ID: 5", "## Subtasks", "### 5.1. A", "**Dependencies:** None", "### 5.2. B",
				"**Dependencies:** 5.1"),
			want: "superpowers 5.1(5.1:0) 5.2(5.2:0)",
		},
		"boxes of a batch without tasks are its steps": {
			in: in("## Batch 1: A", "- [x] a", "## Batch 2: B", "- [ ] b"), want: "run-plan <batch 1> <batch 2> 1() 2() loose:2",
			codes: "unassigned-boxes@2 unassigned-boxes@4",
		},
		"bullets that are indented too far are bullets": {
			in: in("- [ ] 1. A", "      - [x] 1.1 a", "      - [x] 1.2 b", "- [ ] 2. B"), want: "kiro 1(1:2+) 2(2:0)",
		},
		"gsd: a checkpoint without a name is called after what was built": {
			in:   in(`<task type="checkpoint:human-verify">`, "<what-built>The page. It works.</what-built>", "</task>"),
			want: "gsd 1(1:0)", codes: "checkpoint@1",
		},
		"completion as the subject of the work, and as its state": {
			in:   in("# P", "## Phase 1: 完了条件の追加", "text", "## Phase 2: 設定（完了）", "text", "## Phase 3: 部署 已完成", "text"),
			want: "phases <phase 1> <phase 2> <phase 3> 1() 2() 3()", codes: "done-in-words@4 done-in-words@6",
		},
		"done in words is not done, and named": {
			in: in("# P", "## Phase 1: A (COMPLETE ✅)", "text", "## Phase 2: B", "**Status:** ✅ Complete", "## Phase 3: C",
				"**Status**: not done"),
			want: "phases <phase 1> <phase 2> <phase 3> 1() 2() 3()", codes: "done-in-words@2 done-in-words@4",
		},
	})
	p := parse(t, in("## Batch 1: A", "- [x] a", "## Batch 2: B", "- [x] b", "- [ ] c"))
	if !p.Batches[0].Done() || p.Batches[1].Done() {
		t.Error("a batch without tasks is done when all its boxes are ticked")
	}
	if p := parse(t, in("### T1: A [P]", "### T2: B")); !p.Batches[0].ParallelSafe || p.Batches[1].ParallelSafe {
		t.Error("[P] in the heading of a task marks it")
	}
	if got := parse(t, in("# Task ID: 11", "", "**Title:** Make it")).Batches[0].Title; got != "Make it" {
		t.Errorf("the title of a task that is a file: got %q", got)
	}
	if got := parse(t, in("<task>", "<what-built>The page. It works.</what-built>",
		"</task>")).Batches[0].Title; got != "The page" {
		t.Errorf("the title of a checkpoint: got %q", got)
	}
}

func TestDependencyNotations(t *testing.T) {
	for _, line := range []string{
		"**Depends:** Task 1", "**Dependencies:** Task 1", "- **Dependency**: Task 1", "**Blocked by:** Task 1 ✓",
		"**依赖：** 任务1", "**依存**: タスク 1",
		"**Status:** pending **Depends:** Task 1", "**Priority**: P1 | **Depends on**: Task 1",
		"**Goal:** a sentence that\ngoes on here\n\n**Depends on:** Task 1",
	} {
		p := parse(t, in("# P", "### Task 1: A", "text", "### Task 2: B", line))
		if diff := cmp.Diff([]string{"1"}, p.Batches[1].DependsOn); diff != "" || codes(p) != "" {
			t.Errorf("%q: %s %s", line, diff, codes(p))
		}
	}
	p := parse(t, in("- [ ] Task 1: A", "- [ ] Task 2: B", "      - Files: `a.go`", "      - Dependencies: Task 1"))
	if got := strings.Join(p.Batches[1].DependsOn, " "); got != "1" {
		t.Errorf("below a box: got %q", got)
	}
	p = parse(t, in("### T1: A", "### T2: B", "- **What**: b", "- **Depends on**: T1 (none functionally)"))
	if got := strings.Join(p.Batches[1].DependsOn, " "); got != "T1" {
		t.Errorf("an id that is its own keyword: got %q", got)
	}
}

func TestVerificationInOtherLanguages(t *testing.T) {
	for line, want := range map[string]bool{"预期：所有测试通过": true, "기대 결과: PASS": true, "Akzeptanzkriterien": true,
		"实现它": false} {
		if got := !slices.ContainsFunc(Check(parse(t, in("### Task 1: A", line))).Advice,
			func(a Advice) bool { return a.Code == "no-verification" }); got != want {
			t.Errorf("%q says how the task is checked: got %t, want %t", line, got, want)
		}
	}
}

func TestInlineFilesListIsComplete(t *testing.T) {
	b := parse(t, in("### Task 1: A", "**Files:** `a.go`", "", "- [ ] Call it in `b.go`")).Batches[0]
	if diff := cmp.Diff([]string{"a.go"}, b.Files.Modify); diff != "" {
		t.Error(diff)
	}
}
