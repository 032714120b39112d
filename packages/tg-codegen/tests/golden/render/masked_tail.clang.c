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
void masked_tail_body(f32 *restrict data0, f32 *restrict data1, i64 core_id) {
  for (i32 r1 = 0; r1 < 8; r1++) {
    i32 v2 = r1 * 8;
    f32 v3 = *(data1 + v2);
    *(data0 + v2) = v3;
    i32 v4 = v2 + 1;
    f32 v5 = *(data1 + v4);
    *(data0 + v4) = v5;
    i32 v6 = v2 + 2;
    f32 v7 = *(data1 + v6);
    *(data0 + v6) = v7;
    i32 v8 = v2 + 3;
    f32 v9 = *(data1 + v8);
    *(data0 + v8) = v9;
    i32 v10 = v2 + 4;
    f32 v11 = *(data1 + v10);
    *(data0 + v10) = v11;
    i32 v12 = v2 + 5;
    _Bool v13 = v12 < 61;
    f32 v14 = v13 ? *(data1 + v12) : 0x0.0p+0f;
    i32 v15 = v2 + 6;
    _Bool v16 = v15 < 61;
    f32 v17 = v16 ? *(data1 + v15) : 0x0.0p+0f;
    i32 v18 = v2 + 7;
    _Bool v19 = v18 < 61;
    f32 v20 = v19 ? *(data1 + v18) : 0x0.0p+0f;
    if (v13) {
      *(data0 + v12) = v14;
    }
    if (v16) {
      *(data0 + v15) = v17;
    }
    if (v19) {
      *(data0 + v18) = v20;
    }
  }
}
void masked_tail(const u64 *args, i64 core_id) {
  masked_tail_body((f32 *)args[0], (f32 *)args[1], core_id);
}
