// RUN: piper-opt --split-input-file --verify-diagnostics %s

func.func @f(%a: i32, %b: f32) {
  // expected-error@+1 {{'slq' is no predicate of this comparison}}
  %0 = arith.cmpi slq, %a, %a : i32
  func.return
}

// -----

func.func @f(%a: i32) {
  // expected-error@+1 {{'nzw' is no overflow flag}}
  %0 = arith.addi %a, %a overflow<nzw> : i32
  func.return
}

// -----

func.func @f(%b: f32) {
  // expected-error@+3 {{operand 'lhs' of 'arith.addi' must be a signless integer or index, or a vector or tensor of them, but has type f32}}
  // expected-error@+2 {{operand 'rhs' of 'arith.addi'}}
  // expected-error@+1 {{result 'result' of 'arith.addi'}}
  %0 = "arith.addi"(%b, %b) : (f32, f32) -> f32
  func.return
}

// -----

func.func @f(%a: i32) {
  // expected-error@+1 {{'arith.extsi' needs a wider result: i32 to i8}}
  %0 = arith.extsi %a : i32 to i8
  // expected-error@+1 {{'arith.trunci' needs a narrower result: i32 to i64}}
  %1 = arith.trunci %a : i32 to i64
  // expected-error@+1 {{'arith.bitcast' needs types of one width: i32 to f64}}
  %2 = arith.bitcast %a : i32 to f64
  // expected-error@+1 {{'arith.index_cast' converts between index and an integer of fixed width, not i32 to i64}}
  %3 = arith.index_cast %a : i32 to i64
  func.return
}

// -----

func.func @f(%a: tensor<4xi32>, %c: tensor<3xi1>) {
  // expected-error@+1 {{'arith.select' has conditions tensor<3xi1> for values tensor<4xi32>}}
  %0 = arith.select %c, %a, %a : tensor<3xi1>, tensor<4xi32>
  func.return
}

// -----

func.func @f() {
  // expected-error@+1 {{'arith.constant' needs a number, or a vector or tensor of them, with signless integers}}
  %0 = arith.constant 3 : si32
  // expected-error@+1 {{'arith.constant' has value 3 : i32 but type i64}}
  %1 = "arith.constant"() <{value = 3 : i32}> : () -> i64
  func.return
}
