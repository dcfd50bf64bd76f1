" Vim syntax file for Piper's .pir text. Lexical only: it knows no dialect.
if exists('b:current_syntax')
  finish
endif

syntax match pirKeyword /\<\%(module\|func\|loc\|dense\|dense_resource\|array\|unit\|true\|false\|affine_map\|affine_set\|on\|over\|for\|to\|attributes\)\>/
syntax match pirType /\<\%(tensor\|vector\|memref\|tuple\|complex\|index\|none\|[su]\?i\d\+\|bf16\|tf32\|f\%(16\|32\|64\|80\|128\)\)\>/
syntax match pirType /\%(\d\|?\|\*\)x\zs\%([su]\?i\d\+\|bf16\|f\d\+\w*\|index\)\>/
syntax match pirNumber /\%([A-Za-z0-9_$]\)\@1<!-\?\%(0x\x\+\|\d\+\%(\.\d*\)\?\%([eE][+-]\?\d\+\)\?\)/
syntax match pirOperation /\<[a-z_]\w*\%(\.[a-z_]\w*\)\+\>/
syntax match pirValue /%\%(\d\+\|[A-Za-z_$.-][A-Za-z0-9_$.-]*\)\%([:#]\d\+\)\?/
syntax match pirSymbol /@\%([A-Za-z_][A-Za-z0-9_$.]*\|"[^"]*"\)/
syntax match pirBlock /\^[A-Za-z0-9_$.-]\+/
syntax match pirAlias /[!#][A-Za-z_][A-Za-z0-9_$.]*/
syntax match pirEscape /\\\%([nt"\\]\|\x\x\)/ contained
syntax region pirString start=/"/ skip=/\\./ end=/"/ oneline contains=pirEscape
syntax match pirDirective /\<\%(RUN\|REQUIRES\|UNSUPPORTED\|XFAIL\|[A-Z][A-Z0-9_]*\%(-\%(NEXT\|SAME\|NOT\|DAG\|LABEL\|EMPTY\|COUNT-\d\+\)\)\?\):/ contained
syntax match pirDirective /\<expected-\%(error\|warning\|note\|remark\)\%(-re\)\?/ contained
syntax match pirComment "//.*$" contains=pirDirective,@Spell

highlight default link pirKeyword Keyword
highlight default link pirType Type
highlight default link pirNumber Number
highlight default link pirOperation Function
highlight default link pirValue Identifier
highlight default link pirSymbol Special
highlight default link pirBlock Label
highlight default link pirAlias Type
highlight default link pirEscape SpecialChar
highlight default link pirString String
highlight default link pirDirective PreProc
highlight default link pirComment Comment

let b:current_syntax = 'pir'
