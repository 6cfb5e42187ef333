// In place of miniaudio, a library for sound that Ollama's source has in a folder named "vendor", which a Go module
// cannot hold. The server needs it for one thing, to read sound that was sent to a model. Here every such read fails, as
// for a file that is no sound; nothing else is touched by it.
#pragma once

#include <cstddef>
#include <cstdint>

using ma_uint64 = std::uint64_t;

enum ma_result { MA_SUCCESS = 0, MA_NO_BACKEND = -1 };
enum ma_format { ma_format_f32 };

struct ma_decoder_config {};
struct ma_decoder {};

static inline ma_decoder_config ma_decoder_config_init(ma_format, int, int) { return {}; }

static inline ma_result ma_decoder_init_memory(const void *, std::size_t, const ma_decoder_config *, ma_decoder *) {
    return MA_NO_BACKEND;
}

static inline ma_result ma_decoder_get_length_in_pcm_frames(ma_decoder *, ma_uint64 *) { return MA_NO_BACKEND; }

static inline ma_result ma_decoder_read_pcm_frames(ma_decoder *, void *, ma_uint64, ma_uint64 *) { return MA_NO_BACKEND; }

static inline ma_result ma_decoder_uninit(ma_decoder *) { return MA_SUCCESS; }
