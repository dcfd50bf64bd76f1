// What is no token: each sigil alone, characters, strings, numbers, and the columns at which they stand.
// RUN: not piper-opt --allow-unregistered-dialect --split-input-file %s -o %t.out 2>&1 | FileCheck %s
// RUN: test ! -e %t.out

// Sigils without a name.
"t.op"(%) : () -> ()
"t.op"()[^] : () -> ()
"t.op"() {a = @} : () -> ()
"t.op"() {a = #} : () -> ()
"t.op"() : () -> !

// CHECK: error: expected a name or a number after '%'
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-7]]:8
// CHECK: error: expected a name or a number after '^'
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-8]]:10
// CHECK: error: expected a name after '@'
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-9]]:15
// CHECK: help: a name that does not begin with a letter is written in quotes: @"1"
// CHECK: error: expected a name or a number after '#'
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-11]]:15
// CHECK: help: a comment begins with //
// CHECK: error: expected a name or a number after '!'
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-13]]:18

// -----

// A number is no name if letters follow it.
%1a = "t.op"() : () -> i32

// CHECK: error: expected '=' after the result names, found 'a'
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:3

// -----

"t.op"()[^1a] : () -> ()

// CHECK: error: a successor outside any region
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:10

// -----

// A symbol begins with a letter, or is quoted.
"t.op"() {a = @1} : () -> ()

// CHECK: error: expected a name after '@'
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:15
// CHECK: help: a name that does not begin with a letter is written in quotes: @"1"

// -----

"t.op"() {a = @"open} : () -> ()

// CHECK: error: string is not terminated before the end of the line
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:15
// CHECK: help: close it with '"'

// -----

// Hexadecimal numbers have digits.
"t.op"() {a = 0x} : () -> ()

// CHECK: error: expected ',' or '}', found 'x'
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:16
// CHECK: help: hexadecimal digits follow '0x'

// -----

"t.op"() {a = 0xG} : () -> ()

// CHECK: error: expected ',' or '}', found 'xG'
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:16
// CHECK: help: hexadecimal digits follow '0x'

// -----

// Octal and binary digits, and underscores, are not taken.
"t.op"() {a = 0b101} : () -> ()

// CHECK: error: expected ',' or '}', found 'b101'
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:16
// CHECK: help: numbers are decimal or hexadecimal (0x)

// -----

"t.op"() {a = 1_000} : () -> ()

// CHECK: error: expected ',' or '}', found '_000'
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:16
// CHECK: help: digits are written without '_' between them

// -----

// An exponent needs a point before it, and digits.
"t.op"() {a = 1e5} : () -> ()

// CHECK: error: expected ',' or '}', found 'e5'
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:16
// CHECK: help: a number with an exponent has a point, and digits after the 'e': 1.0e5

// -----

"t.op"() {a = 1.0e} : () -> ()

// CHECK: error: expected ',' or '}', found 'e'
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:18
// CHECK: help: a number with an exponent has a point, and digits after the 'e': 1.0e5

// -----

"t.op"() {a = .5} : () -> ()

// CHECK: error: unexpected character '.'
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:15
// CHECK: help: a number has a digit before its point

// -----

"t.op"() {a = 1.2.3} : () -> ()

// CHECK: error: unexpected character '.'
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:18
// CHECK: help: a number has a digit before its point

// -----

// Escapes.
"t.op"() {a = "\q"} : () -> ()

// CHECK: error: unknown escape in string: expected \", \\, \n, \t or two hexadecimal digits
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:16

// -----

"t.op"() {a = "\4"} : () -> ()

// CHECK: error: unknown escape in string: expected \", \\, \n, \t or two hexadecimal digits
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:16

// -----

"t.op"() {a = "\u00e9"} : () -> ()

// CHECK: error: unknown escape in string: expected \", \\, \n, \t or two hexadecimal digits
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:16

// -----

// A string ends on its line.
"t.op"() {a = "open} : () -> ()

// CHECK: error: string is not terminated before the end of the line
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:15
// CHECK: help: close it with '"'

// -----

"t.op"() {a = "two
lines"} : () -> ()

// CHECK: error: string is not terminated before the end of the line
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-4]]:15
// CHECK: help: close it with '"'

// -----

// Characters of other languages.
"t.op"() {a = `b`} : () -> ()

// CHECK: error: unexpected character '`'
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:15

// -----

"t.op"() {a = 5 & 3} : () -> ()

// CHECK: error: unexpected character '&'
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:17

// -----

"t.op"() {a = $b} : () -> ()

// CHECK: error: unexpected character '$'
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:15

// -----

"t.op"() ; () -> ()

// CHECK: error: unexpected character ';'
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:10
// CHECK: help: an operation needs no mark at its end

// -----

'"t.op"() : () -> ()

// CHECK: error: unexpected character '''
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:1
// CHECK: help: strings are written in double quotes

// -----

/* comment */

// CHECK: error: expected an operation name, found '/'
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:1
// CHECK: help: a comment begins with // and ends with its line

// -----

/ comment

// CHECK: error: expected an operation name, found '/'
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:1

// -----

// Two dots are no ellipsis.
"t.op"() {a = ..} : () -> ()

// CHECK: error: unexpected character '.'
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:15
// CHECK: help: a number has a digit before its point

// -----

// Look-alikes of characters: a minus, quotes, an arrow, a Greek letter, a full-width parenthesis, a space that is none.
"t.op"() {a = −1} : () -> ()

// CHECK: error: unexpected character '−' (U+2212)
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:15
// CHECK: help: a minus is written -

// -----

“t.op”() : () -> ()

// CHECK: error: unexpected character '“' (U+201C)
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:1
// CHECK: help: quotes are written '"'

// -----

"t.op"() : () → ()

// CHECK: error: unexpected character '→' (U+2192)
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:15
// CHECK: help: an arrow is written ->

// -----

"t.op"() : () -> tensor<4×f32>

// CHECK: error: unexpected character '×' (U+00D7)
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:26
// CHECK: help: dimensions are separated by the letter x

// -----

"t.op"() {а = 1} : () -> ()

// CHECK: error: unexpected character 'а' (U+0430): names are ASCII
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:11

// -----

"t.op"（) : () -> ()

// CHECK: error: unexpected character '（' (U+FF08)
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:7
// CHECK: help: a full-width character stands here; write the ASCII one

// -----

// Columns count characters: a tab is one, a letter of two bytes is one.
		"t.op"() {a = } : () -> ()

// CHECK: error: expected an attribute, found '}'
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:17

// -----

"t.op"() {ä = "b"} : () -> ()

// CHECK: error: unexpected character 'ä' (U+00E4): names are ASCII
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:11

// -----

"t.op"() {a = "äöü", b = } : () -> ()

// CHECK: error: expected an attribute, found '}'
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:26

// -----

"t.op"() {a = "日本語", 日 = 1} : () -> ()

// CHECK: error: unexpected character '日' (U+65E5): names are ASCII
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:22

// -----

// Punctuation where an operation stands.
)

// CHECK: error: expected an operation name, found ')'
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:1

// -----

, "t.op"() : () -> ()

// CHECK: error: expected an operation name, found ','
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:1

// -----

: i32

// CHECK: error: expected an operation name, found ':'
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:1

// -----

-> i32

// CHECK: error: expected an operation name, found '->'
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:1

// -----

5

// CHECK: error: expected an operation name, found '5'
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:1

// -----

@f

// CHECK: error: expected an operation name, found '@f'
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:1

// -----

^bb0:

// CHECK: error: expected an operation name, found '^bb0'
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:1

// -----

}

// CHECK: error: expected an operation, found '}'
// CHECK-NEXT: --> {{.*}}lexical.pir:[[#@LINE-3]]:1
// CHECK: help: no '{' is open here
