typedef __INT8_TYPE__ i8;
typedef __UINT8_TYPE__ u8;
typedef __INT16_TYPE__ i16;
typedef __UINT16_TYPE__ u16;
typedef __INT32_TYPE__ i32;
typedef __UINT32_TYPE__ u32;
typedef __INT64_TYPE__ i64;
typedef __UINT64_TYPE__ u64;
typedef float f32;
typedef double f64;
static inline __attribute__((always_inline))
void threads_and_variable_body(f32 *restrict data0, f32 *restrict data1, i64 var0, i64 core_id) {
  i32 v1 = (i32)core_id;
  i32 v2 = v1 * 32;
  f32 v3 = (f32)((i32)var0);
  for (i32 r4 = 0; r4 < ((i32)var0); r4++) {
    i32 v5 = v2 + r4;
    f32 v6 = *(data1 + v5);
    f32 v7 = v6 + v3;
    *(data0 + v5) = v7;
  }
}
void threads_and_variable(const u64 *args, i64 core_id) {
  threads_and_variable_body((f32 *)args[0], (f32 *)args[1], (i64)args[2], core_id);
}
