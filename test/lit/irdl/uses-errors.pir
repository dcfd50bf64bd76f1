// Operations, types and attributes that do not meet their definition.
// RUN: piper-opt --load-dialect %S/Inputs/cmath.pir --split-input-file --verify-diagnostics %s

// expected-error@+1 {{parameter 'elem' of !cmath.complex must be f32 or f64, but is i32}}
func.func private @f(!cmath.complex<i32>)

// -----

// expected-error@+1 {{!cmath.complex has 1 parameter(s), not 2}}
func.func private @f(!cmath.complex<f32, f32>)

// -----

// expected-error@+1 {{expected '<' and elem}}
func.func private @f(!cmath.complex)

// -----

func.func @f(%a: !cmath.complex<f32>, %b: !cmath.complex<f64>) {
  // expected-error@+1 {{operand 'rhs' of 'cmath.mul' has type !cmath.complex<f64>, which does not go with operand 'lhs': !cmath.complex<f32>}}
  %0 = "cmath.mul"(%a, %b) : (!cmath.complex<f32>, !cmath.complex<f64>) -> !cmath.complex<f32>
  func.return
}

// -----

func.func @f(%a: i32) {
  // expected-error@+1 {{operand 'value' of 'cmath.norm' must be !cmath.complex<_>, but has type i32}}
  %0 = "cmath.norm"(%a) : (i32) -> i32
  func.return
}

// -----

func.func @f(%a: i32) {
  // expected-error@+1 {{'cmath.norm': operand 'value' must be !cmath.complex<_>, and go with the operands before it, but has type i32}}
  %0 = cmath.norm %a : i32
  func.return
}

// -----

func.func @f(%a: !cmath.complex<f32>) {
  // expected-error@+1 {{attribute 'rounding' of 'cmath.norm' must be #cmath.rounding, but is "up"}}
  %0 = cmath.norm %a {rounding = "up"} : !cmath.complex<f32>
  func.return
}

// -----

func.func @f() {
  // expected-error@+1 {{region 'body' of 'cmath.repeat' must have 1 argument(s), but has 0}}
  cmath.repeat 1 {
  }
  func.return
}

// -----

func.func @f(%a: !cmath.complex<f32>) {
  // expected-error@+1 {{dialect 'cmath' has no operation 'cmath.mull'}}
  %0 = cmath.mull %a, %a : !cmath.complex<f32>
  func.return
}
