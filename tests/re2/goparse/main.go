// Command goparse answers, for the tests of jobset/re2, what Go says about patterns.
//
// It reads one JSON object a line, a pattern and texts, and writes one: the error of regexp.Compile, or the parsed tree
// in the notation of tests/re2/dumps.py and in which texts there is a match. With the argument "tables" it writes Go's
// Unicode tables instead.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"regexp/syntax"
	"runtime"
	"strings"
	"unicode"
)

type question struct {
	Pattern string   `json:"pattern"`
	Texts   []string `json:"texts"`
}

type answer struct {
	Error   string `json:"error"`
	Tree    string `json:"tree"`
	Matches []bool `json:"matches"`
}

type tables struct {
	Go         string               `json:"go"`
	Unicode    string               `json:"unicode"`
	Categories map[string][][2]rune `json:"categories"`
	Scripts    map[string][][2]rune `json:"scripts"`
	Aliases    map[string]string    `json:"aliases"`
	Orbits     [][]rune             `json:"orbits"`
}

func main() {
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	if len(os.Args) > 1 && os.Args[1] == "tables" {
		fail(encoder.Encode(unicodeTables()))
		fail(out.Flush())
		return
	}

	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var asked question
		fail(json.Unmarshal(in.Bytes(), &asked))
		fail(encoder.Encode(judge(asked)))
	}
	fail(in.Err())
	fail(out.Flush())
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "goparse:", err)
		os.Exit(1)
	}
}

func judge(asked question) answer {
	tree, err := syntax.Parse(asked.Pattern, syntax.Perl)
	if err != nil {
		return answer{Error: err.Error()}
	}
	// Compile simplifies its tree in place, so it parses one of its own.
	compiled, err := regexp.Compile(asked.Pattern)
	if err != nil {
		return answer{Error: err.Error()}
	}
	var text strings.Builder
	dump(&text, tree)
	result := answer{Tree: text.String(), Matches: []bool{}}
	for _, text := range asked.Texts {
		result.Matches = append(result.Matches, compiled.MatchString(text))
	}
	return result
}

var words = map[syntax.Op]string{
	syntax.OpNoMatch:        "(class)",
	syntax.OpEmptyMatch:     "empty",
	syntax.OpAnyCharNotNL:   "(class 0 9 b 10ffff)",
	syntax.OpAnyChar:        "(class 0 10ffff)",
	syntax.OpBeginLine:      "bol",
	syntax.OpEndLine:        "eol",
	syntax.OpBeginText:      "bot",
	syntax.OpEndText:        "eot",
	syntax.OpWordBoundary:   "wb",
	syntax.OpNoWordBoundary: "nwb",
}

func dump(out *strings.Builder, node *syntax.Regexp) {
	if word, ok := words[node.Op]; ok {
		out.WriteString(word)
		return
	}
	lazy := ""
	if node.Flags&syntax.NonGreedy != 0 {
		lazy = "?"
	}
	head := ""
	switch node.Op {
	case syntax.OpLiteral:
		head = "lit"
		if node.Flags&syntax.FoldCase != 0 {
			head = "fold"
		}
	case syntax.OpCharClass:
		head = "class"
	case syntax.OpCapture:
		head = fmt.Sprintf("cap %d '%s'", node.Cap, node.Name)
	case syntax.OpStar:
		head = "rep" + lazy + " 0,-1"
	case syntax.OpPlus:
		head = "rep" + lazy + " 1,-1"
	case syntax.OpQuest:
		head = "rep" + lazy + " 0,1"
	case syntax.OpRepeat:
		head = fmt.Sprintf("rep%s %d,%d", lazy, node.Min, node.Max)
	case syntax.OpConcat:
		head = "cat"
	case syntax.OpAlternate:
		head = "alt"
	}
	out.WriteString("(" + head)
	for _, r := range node.Rune {
		fmt.Fprintf(out, " %x", r)
	}
	for _, sub := range node.Sub {
		out.WriteString(" ")
		dump(out, sub)
	}
	out.WriteString(")")
}

func unicodeTables() tables {
	result := tables{
		Go:         runtime.Version(),
		Unicode:    unicode.Version,
		Categories: map[string][][2]rune{},
		Scripts:    map[string][][2]rune{},
		Aliases:    unicode.CategoryAliases,
	}
	for name, table := range unicode.Categories {
		result.Categories[name] = ranges(table)
	}
	for name, table := range unicode.Scripts {
		result.Scripts[name] = ranges(table)
	}
	for c := rune(0); c <= unicode.MaxRune; c++ {
		orbit := []rune{c}
		for f := unicode.SimpleFold(c); f > c; f = unicode.SimpleFold(f) {
			orbit = append(orbit, f)
		}
		// An orbit is listed once, at its smallest member: from any other, the walk meets a smaller one before its end.
		if last := orbit[len(orbit)-1]; len(orbit) > 1 && unicode.SimpleFold(last) == c {
			result.Orbits = append(result.Orbits, orbit)
		}
	}
	return result
}

// ranges lists the code points of a table as sorted ranges that neither overlap nor touch.
func ranges(table *unicode.RangeTable) [][2]rune {
	result := [][2]rune{}
	add := func(lo, hi, stride rune) {
		for c := lo; c <= hi; c += stride {
			end := c
			if stride == 1 {
				end = hi
			}
			if n := len(result); n > 0 && result[n-1][1]+1 == c {
				result[n-1][1] = end
			} else {
				result = append(result, [2]rune{c, end})
			}
			if stride == 1 {
				return
			}
		}
	}
	for _, r := range table.R16 {
		add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	for _, r := range table.R32 {
		add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	return result
}
