package planparse

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/runplan/runplan/internal/lists"
)

// This file is the vocabulary of plans: the keywords and labels, in several languages. The words in other languages
// come from plans that were found; tools that write plans translate their template literally.

// keyword is the kind of unit that a word begins, and the English word for it.
type keyword struct {
	kind unitKind
	word string
}

// keywords maps the words that begin a unit, in lower case.
var keywords = sync.OnceValue(func() map[string]keyword {
	out := map[string]keyword{}
	for kind, rows := range map[unitKind][]string{ // the English word first
		unitBatch: {"batch 批次"},
		unitGroup: {"phase fase faz fas faza tahap đoạn фаза 阶段 階段 段階 フェーズ フェイズ 단계 期", "chunk",
			"wave welle vague oleada onda 波次", "track", "tranche", "checkpoint"},
		unitSpan: {"day tag día jour gün день", "week woche semana semaine hafta vecka tydzień неделя 周 週", "sprint спринт",
			"milestone meilenstein hito 里程碑 マイルストーン", "stage stufe etapa aşama etap этап", "part parte partie teil часть",
			"module modul módulo модуль 模块 模組 モジュール", "epic épica épico эпик", "workstream", "stream", "increment",
			"priority prioridad prioridade",
			"layer schicht couche capa camada 层 層 レイヤー 계층",
			"version versión versão версия 版本 バージョン 버전"},
		unitTask: {"task ticket aufgabe tâche tache tarea tarefa attività görev задача 任务 任務 タスク 작업 태스크",
			"iteration iteração iteración itération итерация 迭代 イテレーション"},
		unitPiece: {"slice", "commit", "story", "unit", "change", "fix", "pr"},
		unitStep:  {"step schritt étape paso passo adım steg krok langkah шаг 步骤 步驟 ステップ"},
	} {
		for _, row := range rows {
			words := strings.Fields(row)
			for _, w := range words {
				out[w] = keyword{kind, words[0]}
			}
		}
	}
	return out
})

// unitWord maps a keyword, in lower case, to its kind and its English name.
func unitWord(word string) (unitKind, string) {
	k := keywords()[word]
	return k.kind, k.word
}

// ideographic reports whether a letter is Chinese, Japanese or Korean. These languages put no space between words.
func ideographic(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// joinedWord recognizes a keyword that is joined with the id: "任务1", "フェーズ2".
func joinedWord(s []byte) (kind unitKind, word string, rest []byte) {
	if r, _ := utf8.DecodeRune(s); !ideographic(r) {
		return unitNone, "", nil
	}
	for text, k := range keywords() {
		if rest, ok := bytes.CutPrefix(s, []byte(text)); ok {
			return k.kind, k.word, rest
		}
	}
	return unitNone, "", nil
}

// cutKeyword removes the keyword from the start of a heading. joined says that the id may follow directly.
func cutKeyword(s []byte) (kind unitKind, word string, rest []byte, joined bool) {
	if kind, word, rest = joinedWord(s); kind != unitNone {
		return kind, word, rest, true
	}
	n := bytes.IndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) })
	if n < 0 {
		n = len(s)
	}
	kind, word = unitWord(strings.ToLower(string(s[:n])))
	return kind, word, s[n:], false
}

// ordinalUnit reads headings with the number before the keyword: "第一阶段：…", "第 2 フェーズ", "1단계: …".
func ordinalUnit(s []byte) (u unit, ok bool) {
	rest, th := bytes.CutPrefix(s, []byte("第"))
	id, rest := cutNumeral(bytes.TrimLeft(rest, " "))
	if id == "" {
		return unit{}, false
	}
	if to, after := cutNumeral(bytes.TrimPrefix(rest, []byte("-"))); th && to != "" { // "第1-2周"
		id, rest = id+"-"+to, after
	}
	rest = bytes.TrimLeft(rest, " ")
	if step, found := bytes.CutPrefix(rest, []byte("步")); found && th {
		u.kind, u.word, rest = unitStep, "step", step
	} else if u.kind, u.word, rest = joinedWord(rest); u.kind == unitNone {
		return unit{}, false
	}
	u.id = id
	u.title, u.ok = unitTitle(rest)
	return u, true
}

// cutNumeral removes a whole number from the start of s: "12", or "十二" in Chinese and Japanese.
func cutNumeral(s []byte) (id string, rest []byte) {
	for len(id) < 4 && len(s) > 0 {
		r, size := utf8.DecodeRune(s)
		if '０' <= r && r <= '９' {
			r += '0' - '０'
		}
		if r < '0' || r > '9' {
			break
		}
		id, s = id+string(r), s[size:]
	}
	if id != "" {
		return id, s
	}
	sum, last := 0, -1
	for range len("九十九") / len("九") {
		r, size := utf8.DecodeRune(s)
		if r == '十' {
			sum, last = max(last, 1)*10, 0
		} else if digit := strings.IndexRune("一二三四五六七八九", r); r >= utf8.RuneSelf && r != utf8.RuneError && digit >= 0 &&
			last <= 0 {
			last = digit/len("一") + 1
		} else {
			break
		}
		s = s[size:]
	}
	if last < 0 {
		return "", s
	}
	return strconv.Itoa(sum + last), s
}

// dependsKey reports whether a label, folded by metaKey, names dependencies. runplan's own form is "depends_on"; the
// others are prose.
func dependsKey(key string) bool {
	return slices.Contains([]string{"depends_on", "depends", "dependencies", "dependency", "blocked_by",
		"依赖", "依賴", "前置依赖", "依存", "依存関係", "의존성", "abhängigkeiten", "dépendances", "dependencias", "dependências",
		"зависимости", "зависит_от"}, key)
}

// filesLabel reports whether a label, in lower case, opens a list of files.
func filesLabel(label string) bool {
	if strings.HasPrefix(label, "files") && containsAny(label, " to change", " to touch", " to modify", " to create") {
		return true // "files/functions to modify/create"
	}
	return slices.Contains([]string{"files", "file", "files touched", "where", "deliverables",
		"文件", "檔案", "ファイル", "対象ファイル", "파일", "dateien", "datei", "archivos", "archivo", "ficheros", "fichero",
		"fichiers", "fichier", "arquivos", "arquivo", "ficheiros", "ficheiro", "файлы", "файл"}, label)
}

// fileVerb maps a label, in lower case, to the action on its paths; "" for a label that changes no file.
func fileVerb(label string) string {
	switch label {
	case "create", "creates", "new", "add", "new file", "new files", "创建", "新建", "新增", "建立", "作成", "新規", "新規作成", "생성",
		"erstellen", "anlegen", "neu", "crear", "nuevo", "nuevos", "nouveau", "nouveaux", "novo", "novos", "créer", "criar",
		"creare", "создать":
		return "create"
	case "modify", "modifies", "update", "edit", "change", "extend", "create/modify", "modify/create", "create or modify",
		"add/modify", "modified", "rewrite", "replace",
		"修改", "更新", "変更", "修正", "編集", "수정", "변경", "ändern", "anpassen", "modificar", "modifier", "modificare", "изменить":
		return "modify"
	case "test", "tests", "test file", "test files", "测试", "測試", "テスト", "테스트", "prueba", "pruebas", "teste", "testes",
		"тест", "тесты":
		return "test"
	case "delete", "remove", "deletes", "deleted", "删除", "刪除", "削除", "삭제", "löschen", "eliminar", "borrar", "excluir",
		"supprimer", "удалить":
		return "delete"
	case "move", "rename", "moves":
		return "move"
	}
	return ""
}

// commandLabel maps a label, in lower case, to "run", "verify" or "expected".
func commandLabel(label string) string {
	switch label {
	case "run", "command", "运行", "運行", "执行", "執行", "実行", "실행", "ausführen", "ejecutar", "exécuter", "executar",
		"запустить":
		return "run"
	case "verify", "verification", "validation":
		return "verify"
	case "expect", "expected", "预期", "預期", "期望", "期待", "期待結果", "기대", "기대 결과", "예상", "erwartet", "esperado", "attendu",
		"ожидается":
		return "expected"
	}
	return ""
}

// plainLetters replaces accented letters: many authors leave the accents out.
var plainLetters = strings.NewReplacer("á", "a", "à", "a", "â", "a", "ã", "a", "ä", "a", "ç", "c", "é", "e", "è", "e",
	"ê", "e", "í", "i", "ó", "o", "ô", "o", "õ", "o", "ö", "o", "ú", "u", "ü", "u", "ñ", "n")

// bareTitle returns a title in lower case without its number, decoration, accents and note: "6. Implementation Order
// (tests first)".
func bareTitle(title string) string {
	title, _, _ = strings.Cut(strings.NewReplacer("（", " (", "(", " (", ",", " (").Replace(strings.ToLower(title)), " (")
	title = plainLetters.Replace(strings.TrimSpace(string(undecorate([]byte(strings.Trim(title, " :.)0123456789"))))))
	if article, rest, _ := strings.Cut(title, " "); slices.Contains([]string{"the", "die", "der", "os", "los", "las",
		"les", "el"}, article) { // "Los pasos"
		return cmp.Or(rest, title)
	}
	return title
}

// stepsTitle reports whether a heading says that the numbered list below it is the plan.
func stepsTitle(title string) bool {
	title = bareTitle(title)
	if words := strings.Fields(title); len(words) > 1 &&
		slices.Contains([]string{"plan", "steps", "order", "phases", "sequence", "stages", "slices", "breakdown"},
			words[len(words)-1]) {
		noun, before := words[len(words)-1], words[len(words)-2]
		known := lists.Count(words, func(word string) bool {
			return slices.Contains([]string{"implementation", "development", "delivery", "refactor", "refactoring", "migration",
				"execution", "cleanup", "recommended", "suggested", "ordered", "detailed", "incremental", "product", "task",
				"work", "action", "immediate", "commit", "step-by-step"}, word)
		})
		if known == len(words)-1 || noun == "plan" && before == "work" || noun == "steps" && before != "next" && known > 0 {
			return true
		}
	}
	return slices.Contains([]string{"implementation units", "order of implementation", "build order", "sequence",
		"decomposition", "procedure", "subtasks", "fix design", "任务分解", "任务拆解", "作業分解", "タスク分解", "작업 분해", "实施顺序", "执行单元",
		"実装順序", "구현 순서", "umsetzungsreihenfolge",
		"orden de implementacion", "ordem de implementacao", "ordre d'implementation", "порядок реализации", "实施单元",
		"steps", "implementation", "plan", "the plan", "plan of work", "tasks", "implementation tasks", "task list",
		"step by step", "step-by-step", "step-by-step plan", "concrete steps", "todo", "to do", "phases", "milestones",
		"increments", "stages", "phasen", "etappen", "meilensteine", "fases", "plan de trabajo", "plano de trabalho",
		"plan de travail", "plan de accion", "plan d'action immediat", "plano de acao", "plan d'action", "arbeitsplan",
		"实施计划", "開発計画",
		"fases de implementacao", "etapas", "этапы", "フェーズ",
		"implementation strategy", "estrategia de implementacao", "estrategia de implementacion", "步骤", "实施步骤", "实现步骤",
		"手順", "実装手順", "実装ステップ", "実装ステップ詳細", "단계", "구현 단계", "schritte", "umsetzung", "umsetzungsschritte", "pasos",
		"pasos de implementacion", "etapes", "passos", "шаги", "план"}, title)
}

// remainingTitle reports whether a heading says that the items below it are still to be done.
func remainingTitle(title string) bool {
	title = strings.TrimSuffix(bareTitle(title), " priorities") // "Near-term priorities"
	return slices.Contains([]string{"remaining", "remaining work", "remaining tasks", "remaining steps", "pending",
		"planned", "pending tasks", "pending work", "future work", "planned improvements", "now", "next", "later",
		"near term", "near-term", "near-term focus", "near-term tasks", "short term", "short-term",
		"medium term", "medium-term",
		"mid-term", "mid-term direction", "longer term", "long term", "long-term", "long-term direction", "todo",
		"to do", "to-do", "todos", "open todo", "open todos", "open tasks", "immediate", "next actions", "action items", "待办",
		"待办事项", "待办任务", "剩余任务", "残タスク",
		"残作業", "やること", "次のアクション", "할 일", "남은 작업", "offene aufgaben", "tareas pendientes", "pendientes",
		"proximas acciones", "tarefas pendentes", "pendencias", "proximas acoes", "taches restantes", "a faire",
		"prochaines actions", "осталось сделать", "оставшиеся задачи", "что осталось"}, title)
}

// changesTitle reports whether a title, in lower case, only says that changes follow.
func changesTitle(title string) bool {
	return slices.Contains([]string{"changes", "code changes", "file changes", "changes by file", "änderungen", "cambios",
		"alterações", "modifications", "изменения", "改动", "修改内容", "变更内容", "変更内容", "変更点", "변경 사항"}, title)
}

// completedTitle reports whether a heading says that the tasks below it are done.
func completedTitle(title string) bool {
	return slices.Contains([]string{"completed", "archived", "archived tasks", "archived stories", "completed tasks",
		"completed work", "completed phases", "completed features", "completed milestones",
		"completed items", "shipped", "done", "done tasks", "finished", "finished tasks", "已完成", "已完成任务",
		"已完成的任务", "完了", "完了済み", "完了タスク", "완료", "완료된 작업", "erledigt", "erledigte aufgaben", "abgeschlossen",
		"completado", "completadas", "tareas completadas", "concluido", "concluidas", "tarefas concluidas", "termine",
		"taches terminees", "deja fait", "выполнено", "выполненные задачи", "готово"}, bareTitle(title))
}

// column says what the cells below the header of a column are: the "id", the "title" or the "state" of a task, or the
// value of a "key" (files, dependencies, a role).
func column(header string) string {
	name := strings.ToLower(header)
	kind, _, _, _ := cutKeyword([]byte(strings.TrimSuffix(name, "s")))
	switch {
	case kind == unitTask, slices.Contains([]string{"description", "title", "what", "beschreibung", "titel", "was",
		"descripción", "título", "descrição", "titre", "описание", "作業", "内容", "描述", "说明", "내용"}, name):
		return "title"
	case slices.Contains([]string{"id", "#", "nr", "nr.", "no", "no.", "编号", "番号", "번호"}, name):
		return "id"
	case slices.Contains([]string{"status", "state", "progress", "done", "done?", "completed", "estado", "statut", "stand",
		"статус", "状态", "進捗", "状態", "상태"}, name):
		return "state"
	case filesLabel(name), dependsKey(metaKey(name)), commandLabel(name) == "verify", slices.Contains([]string{"role",
		"owner", "assignee", "agent", "rolle", "rol", "负责人", "担当", "담당"}, name):
		return "key"
	}
	return ""
}

// planTitle reports whether the tables below a heading may be the plan.
func planTitle(title string) bool {
	return stepsTitle(title) ||
		containsAny(strings.ToLower(title), "plan", "steps", "roadmap", "task", "phase", "fase", "milestone", "breakdown",
			"phasing",
			"meilenstein", "schedule", "timeline", "backlog", "sprint", "aufgaben", "план", "задач", "этап",
			"дорожная карта", "tarefas", "tareas", "cronograma", "etapas", "étapes", "tâches", "计划", "任务", "阶段",
			"里程碑", "計画", "タスク", "フェーズ", "バックログ", "ロードマップ", "작업", "계획", "단계", "로드맵")
}

// saysProgress reports whether a heading is above a list of progress, and not of work.
func saysProgress(title string) bool {
	return containsAny(strings.ToLower(title), "progress", "execution record", "execution log", "work log", "status",
		"tracker", "tracking", "overview", "at a glance", "summary", "当前状态", "现状", "現状", "현재 상태", "进度", "進捗", "진행",
		"fortschritt", "progreso",
		"progresso", "avancement", "прогресс")
}

// saysSchedule reports whether a heading is above a calendar of work that other headings describe.
func saysSchedule(title string) bool {
	return containsAny(strings.ToLower(title), "schedule", "timeline", "cronograma", "calendario", "calendrier",
		"zeitplan",
		"时间表", "時間表", "スケジュール", "일정", "график")
}

// isState reports whether a text explains a box: the row of a legend.
func isState(text string) bool {
	return slices.Contains([]string{"open", "todo", "to do", "to-do", "not started", "not yet started", "pending",
		"planned", "in progress", "started", "incomplete", "done", "complete", "completed", "finished", "blocked",
		"skipped", "dropped", "cancelled", "canceled", "deferred",
		"unchecked", "checked"}, strings.ToLower(strings.Trim(text, " .`*_")))
}

// namesCheck reports whether a text, in lower case, describes the expected result.
func namesCheck(text string) bool {
	return containsAny(text, "expected:", "success criteria", "acceptance", "verify", "make test", "go test",
		"pytest", "npm test", "cargo test", "预期", "預期", "验收", "驗收", "验证", "驗證", "期待結果", "受け入れ", "検証", "기대 결과",
		"예상 결과", "검증", "erwartet:", "akzeptanz", "esperado:", "criterios de aceptación", "critérios de aceitação",
		"attendu", "critères d'acceptation", "ожидается", "приёмк")
}

// verdictWord maps a word, in lower case, to PASS or FAIL.
func verdictWord(word string) string {
	switch word {
	case "pass", "passes", "passed", "passing", "success", "succeeds", "green", "clean", "通过", "通過", "成功", "통과", "성공":
		return "PASS"
	case "fail", "fails", "failed", "failing", "failure", "red", "失败", "失敗", "실패":
		return "FAIL"
	}
	return ""
}

// ideographicVerdict parses an expectation in Chinese, Japanese or Korean: "测试通过". Text that it cannot parse is
// for people, because no program prints it.
func ideographicVerdict(text string) (verdict string, ok bool) {
	if !strings.ContainsFunc(text, ideographic) {
		return "", false
	}
	switch {
	case containsAny(text, "fail", "失败", "失敗", "실패"):
		return "FAIL", true
	case containsAny(text, "pass", "通过", "通過", "成功", "통과", "성공"):
		return "PASS", true
	}
	return "", true
}
