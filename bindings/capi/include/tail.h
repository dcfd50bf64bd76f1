
// ---- conveniences -------------------------------------------------------------------------------------------------------

// A text from a string that ends with a NUL.
static inline PiperStr piper_str(const char *text) {
  PiperStr view;
  view.data = text;
  view.len = text == NULL ? 0 : strlen(text);
  return view;
}

// A text from a literal, as an initializer: `PiperStr name = PIPER_LITERAL("mine");`
#define PIPER_LITERAL(text) {(text), sizeof(text) - 1}

// Whether two texts are equal.
static inline bool piper_str_is(PiperStr view, const char *text) {
  const size_t len = strlen(text);
  return view.len == len && (len == 0 || memcmp(view.data, text, len) == 0);
}

// Whether a text is a decimal number that fits, and which: for options of passes. (Texts do not end with a NUL, so strtol is none.)
static inline bool piper_str_int(PiperStr view, int64_t *out) {
  const bool is_negative = view.len > 0 && view.data[0] == '-';
  size_t at = is_negative ? 1 : 0;
  int64_t value = 0;
  if (at == view.len) return false;
  for (; at < view.len; at++) {
    const int digit = view.data[at] - '0';
    if (digit < 0 || digit > 9 || value > (INT64_MAX - digit) / 10) return false;
    value = 10 * value + digit;
  }
  *out = is_negative ? -value : value;
  return true;
}

static inline PiperPlace piper_place_(uint32_t kind, PiperBlock block, PiperOp op) {
  PiperPlace place;
  place.kind = kind;
  place.block = block;
  place.op = op;
  return place;
}

// Nowhere: what is created stands in no block yet.
static inline PiperPlace piper_nowhere(void) {
  const PiperBlock no_block = {0};
  const PiperOp no_op = {0};
  return piper_place_(PIPER_NOWHERE, no_block, no_op);
}

// At the beginning of a block.
static inline PiperPlace piper_at_start(PiperBlock block) {
  const PiperOp no_op = {0};
  return piper_place_(PIPER_AT_START, block, no_op);
}

// At the end of a block.
static inline PiperPlace piper_at_end(PiperBlock block) {
  const PiperOp no_op = {0};
  return piper_place_(PIPER_AT_END, block, no_op);
}

// Before an operation.
static inline PiperPlace piper_before(PiperOp op) {
  const PiperBlock no_block = {0};
  return piper_place_(PIPER_BEFORE, no_block, op);
}

// After an operation.
static inline PiperPlace piper_after(PiperOp op) {
  const PiperBlock no_block = {0};
  return piper_place_(PIPER_AFTER, no_block, op);
}

// ---- plugins ------------------------------------------------------------------------------------------------------------
//
// A plugin is a shared library that exports `const PiperPlugin *piper_plugin(void)`. This is all of one:
//
//     #define PIPER_PLUGIN  // calls go through the table, so nothing of Piper is linked
//     #include "piper.h"
//
//     static PiperStatus run(void *user, PiperPass *pass) { ... }
//
//     static PiperStatus fill(PiperRegistrar *registrar) {
//       PiperPassInfo info = {0};
//       info.size = sizeof info;
//       info.name = piper_str("my-pass");
//       info.run = run;
//       return piper_registrar_add_pass(registrar, &info);
//     }
//
//     PIPER_DEFINE_PLUGIN("mine", "1.0", fill)
//
// Build it with `cc -shared -fPIC -o libmine.so mine.c`; use it with `piper-opt --load-plugin=./libmine.so --pass my-pass`.
// Functions are only ever added to the end of the table, so it works with every later version of Piper. It works with earlier
// ones, too, that have the functions it uses: say before the include which is the last one of them in the table, as
// `#define PIPER_PLUGIN_NEEDS PIPER_API_NEEDS(pass_report)`.

// How much of the table a plugin needs whose last function is this one.
#define PIPER_API_NEEDS(function) (offsetof(PiperApi, function) + sizeof(void (*)(void)))

#ifdef PIPER_PLUGIN

#ifndef PIPER_PLUGIN_NEEDS
#define PIPER_PLUGIN_NEEDS sizeof(PiperApi)
#endif

#ifdef __cplusplus
#define PIPER_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define PIPER_EXPORT __attribute__((visibility("default")))
#endif

// The table, from the moment that the plugin is asked what it has.
extern const PiperApi *piper_api __attribute__((visibility("hidden")));

#define PIPER_DEFINE_PLUGIN(plugin_name, plugin_version, fill_function)                   \
  const PiperApi *piper_api;                                                              \
  static PiperStatus piper_fill_(const PiperApi *api, PiperRegistrar *registrar) {        \
    piper_api = api;                                                                      \
    return fill_function(registrar);                                                      \
  }                                                                                       \
  PIPER_EXPORT const PiperPlugin *piper_plugin(void);                                     \
  PIPER_EXPORT const PiperPlugin *piper_plugin(void) {                                    \
    static const PiperPlugin plugin = {PIPER_PLUGIN_MAGIC,  PIPER_ABI_VERSION,            \
                                       0,                   sizeof(PiperPlugin),          \
                                       PIPER_PLUGIN_NEEDS,  PIPER_LITERAL(plugin_name),   \
                                       PIPER_LITERAL(plugin_version), piper_fill_};       \
    return &plugin;                                                                       \
  }

