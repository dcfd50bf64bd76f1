// Aliases, locations, and what stands beside the operations of a file.
// RUN: not piper-opt --allow-unregistered-dialect --split-input-file %s -o %t.out 2>&1 | FileCheck %s
// RUN: test ! -e %t.out

#a 1

// CHECK: error: expected '=' in an alias definition, found '1'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:4

// -----

#a.b = 1

// CHECK: error: alias names may not contain '.'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:1

// -----

!a.b = i32

// CHECK: error: alias names may not contain '.'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:1

// -----

#a = 1
#a = 2

// CHECK: error: redefinition of alias 'a'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:1

// -----

!a = i32
!a = i64

// CHECK: error: redefinition of alias 'a'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:1

// -----

!a = 1

// CHECK: error: expected a type, found '1'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:6

// -----

#a = word

// CHECK: error: expected an attribute, found 'word'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:6
// CHECK: help: a string is written in quotes: "word"

// -----

"t.op"() {a = #later} : () -> ()
#later = 1

// CHECK: error: undefined attribute alias '#later'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-4]]:15

// -----

"t.op"() : () -> !later
!later = i32

// CHECK: error: undefined type alias '!later'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-4]]:18

// -----

#a = #a

// CHECK: error: undefined attribute alias '#a'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:6

// -----

"t.op"() {a = #t} : () -> ()

// CHECK: error: undefined attribute alias '#t'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:15

// -----

"t.op"() : () -> () loc()

// CHECK: error: expected a location, found ')'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:25

// -----

"t.op"() : () -> () loc(5)

// CHECK: error: expected a location, found '5'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:25

// -----

"t.op"() : () -> () loc(known)

// CHECK: error: expected a location, found 'known'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:25

// -----

"t.op"() : () -> () loc("file":)

// CHECK: error: expected an integer, found ')'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:32

// -----

"t.op"() : () -> () loc("file":a:b)

// CHECK: error: expected an integer, found 'a'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:32

// -----

"t.op"() : () -> () loc("file":-1:1)

// CHECK: error: line or column out of range
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:32

// -----

"t.op"() : () -> () loc("file":1:99999999999)

// CHECK: error: line or column out of range
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:34

// -----

"t.op"() : () -> () loc("file":1:2 to)

// CHECK: error: expected an integer, found ')'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:38

// -----

"t.op"() : () -> () loc("name"(5))

// CHECK: error: expected a location, found '5'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:32

// -----

"t.op"() : () -> () loc(callsite("a" "b"))

// CHECK: error: expected 'at', found '"b"'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:38

// -----

"t.op"() : () -> () loc(callsite("a" at ))

// CHECK: error: expected a location, found ')'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:41

// -----

"t.op"() : () -> () loc(callsite unknown)

// CHECK: error: expected '(', found 'unknown'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:34

// -----

"t.op"() : () -> () loc(fused)

// CHECK: error: expected '[', found ')'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:30

// -----

"t.op"() : () -> () loc(fused["a" "b"])

// CHECK: error: expected ',' or ']', found '"b"'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:35

// -----

"t.op"() : () -> () loc(fused<>["a"])

// CHECK: error: expected an attribute, found '>'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:31

// -----

"t.op"() : () -> () loc(fused<1["a"])

// CHECK: error: expected '>', found '['
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:32

// -----

"t.op"() : () -> () loc(#never)

// CHECK: error: location alias '#never' is never defined
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:25

// -----

#number = 1
"t.op"() : () -> () loc(#number)

// CHECK: error: alias '#number' is not a location
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:25

// -----

"t.op"() {a = loc(#never)} : () -> ()

// CHECK: error: undefined location alias '#never'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:19

// -----

"t.op"() ({
^bb0(%a : i32 loc(nothing)):
}) : () -> ()

// CHECK: error: expected a location, found 'nothing'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-4]]:19

// -----

// Behind everything.
{-# #-

// CHECK: error: expected an identifier as the key of the file metadata dictionary, found '#-'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:5

// -----

{-# dialect_resources #-}

// CHECK: error: expected ':', found '#-}'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:23

// -----

{-# dialect_resources: 5 #-}

// CHECK: error: expected '{', found '5'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:24

// -----

{-# other: {} #-}

// CHECK: error: unknown key 'other' in file metadata dictionary
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:5
// CHECK: help: the keys are dialect_resources and external_resources

// -----

{-# dialect_resources: { nobody: { a: "0x00000000" } } #-}

// CHECK: error: dialect 'nobody' is unknown
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:26

// -----

{-# dialect_resources: { builtin: { a "0x00000000" } } #-}

// CHECK: error: expected ':', found '"0x00000000"'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:39

// -----

{-# dialect_resources: { builtin: { a: 5 } } #-}

// CHECK: error: expected hex string blob for key 'a'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:40

// -----

{-# dialect_resources: { builtin: { a: "0x00" } } #-}

// CHECK: error: expected hex string blob for key 'a' to encode alignment in first 4 bytes
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:40

// -----

{-# dialect_resources: { builtin: { a: "0x05000000" } } #-}

// CHECK: error: expected hex string blob for key 'a' to encode alignment in first 4 bytes, but got non-power-of-2 value: 5
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:40

// -----

{-# dialect_resources: { builtin: { a: "text" } } #-}

// CHECK: error: expected hex string blob for key 'a'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:40

// -----

{-# external_resources: { tool: { a: 5 } } #-}

// CHECK: error: expected a string, a blob, true or false as the value of key 'a'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:38

// -----

#-}

// CHECK: error: expected an operation name, found '#-}'
// CHECK-NEXT: --> {{.*}}references.pir:[[#@LINE-3]]:1
