/*
 * torch_ops.cpp - the observer of PyTorch's operators.
 *
 * The one file that is compiled against PyTorch's headers, once for each of its minor versions
 * (build_observers.sh), because the layout of at::RecordFunction differs. It takes an operator
 * apart and hands it to the library (collect/torch_ops_abi.h), which keeps it.
 *
 * Threads: the callbacks run on the thread of the operator; they allocate nothing but for
 * collectives and keyword arguments. Inputs are written into a buffer of the thread's stack.
 */
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/profiler/util.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <unordered_set>

#include "collect/torch_ops_abi.h"

#ifndef NDEBUG
#error "at::RecordFunction has another layout without NDEBUG, which PyTorch is built with"
#endif
#ifndef BUILT_FOR
#error "build_observers.sh says for which version of PyTorch this is"
#endif
#define INPUTS_BYTES 3072
#define NUMBER_BYTES 10
#define MORE_BYTES   1024
/* At most this much of a text among keyword arguments. */
#define TEXT_BYTES 200

namespace
{

const sl_torch_ops_host *host;
at::CallbackHandle scopes, lean, full;

/* ---- inputs ---- */

/* Writes items until one does not fit; what is there then are whole ones. */
class Writer
{
  public:
    explicit Writer(uint8_t *bytes) : begin_(bytes), at_(bytes), end_(bytes + INPUTS_BYTES)
    {
    }

    uint32_t length() const
    {
        return static_cast<uint32_t>(at_ - begin_);
    }

    bool was_cut() const
    {
        return cut_;
    }

    void put_all(c10::ArrayRef<const c10::IValue> inputs)
    {
        for (const c10::IValue &input : inputs) {
            uint8_t *before = at_;

            put(input);
            if (cut_) {
                at_ = before;
                return;
            }
        }
    }

  private:
    uint8_t *begin_, *at_, *end_;
    bool cut_ = false;

    bool has_room(size_t bytes)
    {
        cut_ = cut_ || static_cast<size_t>(end_ - at_) < bytes;
        return !cut_;
    }

    void kind(sl_torch_input kind)
    {
        if (has_room(1))
            *at_++ = static_cast<uint8_t>(kind);
    }

    /* There is room. */
    void put_number(uint64_t value)
    {
        for (; value >= 0x80; value >>= 7)
            *at_++ = static_cast<uint8_t>(value | 0x80);
        *at_++ = static_cast<uint8_t>(value);
    }

    void put_numbers(c10::IntArrayRef values)
    {
        for (int64_t value : values)
            put_number(static_cast<uint64_t>(value));
    }

    void number(uint64_t value)
    {
        if (has_room(NUMBER_BYTES))
            put_number(value);
    }

    void bits(double value)
    {
        if (!has_room(sizeof(value)))
            return;
        memcpy(at_, &value, sizeof(value));
        at_ += sizeof(value);
    }

    void put(const at::Tensor &t)
    {
        if (!t.defined() || t.is_nested() ||
            t.unsafeGetTensorImpl()->has_symbolic_sizes_strides()) {
            kind(SL_TORCH_OTHER);
            return;
        }
        bool has_strides = t.layout() == at::kStrided;
        c10::IntArrayRef sizes = t.sizes();
        if (!has_room(2 + NUMBER_BYTES * (1 + 2 * sizes.size())))
            return;
        *at_++ = static_cast<uint8_t>(has_strides ? SL_TORCH_TENSOR : SL_TORCH_LAYOUT);
        *at_++ = static_cast<uint8_t>(t.scalar_type());
        put_number(sizes.size());
        put_numbers(sizes);
        if (has_strides)
            put_numbers(t.strides());
    }

    void put_scalar(const c10::IValue &v)
    {
        if (v.isInt()) {
            int64_t value = v.toInt();

            kind(SL_TORCH_INT);
            number(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
        } else if (v.isBool()) {
            kind(v.toBool() ? SL_TORCH_TRUE : SL_TORCH_FALSE);
        } else if (v.isDouble()) {
            kind(SL_TORCH_DOUBLE);
            bits(v.toDouble());
        } else if (v.isComplexDouble()) {
            kind(SL_TORCH_COMPLEX);
            bits(v.toComplexDouble().real());
            bits(v.toComplexDouble().imag());
        } else {
            kind(SL_TORCH_SYMBOL);
        }
    }

    void put(const c10::IValue &v)
    {
        if (v.isTensor()) {
            put(v.toTensor());
        } else if (v.isScalar()) {
            put_scalar(v);
        } else if (v.isList()) {
            put_list(v);
        } else {
            kind(SL_TORCH_OTHER);
        }
    }

    void put_list(const c10::IValue &v)
    {
        c10::ArrayRef<c10::IValue> list = v.toListRef();
        bool is_short = list.size() <= SL_TORCH_LIST_MOST;

        if (v.isTensorList()) {
            kind(SL_TORCH_TENSORS);
            number(list.size());
            for (size_t i = 0; is_short && i < list.size(); i++)
                put(list[i].toTensor());
        } else if (list.empty() || (is_short && list[0].isScalar())) {
            kind(SL_TORCH_SCALARS);
            number(list.size());
            for (const c10::IValue &scalar : list)
                put_scalar(scalar);
        } else {
            kind(SL_TORCH_OTHER);
        }
    }
};

/* ---- what else a row says ---- */

void add(std::string &more, const std::string &key, const std::string &json)
{
    if (more.size() + key.size() + json.size() + 4 > MORE_BYTES)
        return;
    if (!more.empty())
        more += ',';
    more += '"';
    more += key;
    more += "\":";
    more += json;
}

/* torch.profiler's words for a collective; it quotes what is text. */
void add_collective(std::string &more, const at::RecordFunction &fn)
{
    for (const auto &member : torch::profiler::impl::saveNcclMeta(fn))
        add(more, member.first, member.second);
}

std::string json_of(const std::string &text)
{
    static const char digits[] = "0123456789abcdef";
    std::string json = "\"";

    for (char c : text) {
        auto byte = static_cast<unsigned char>(c);

        if (byte < 0x20) {
            json += "\\u00";
            json += digits[byte >> 4];
            json += digits[byte & 15];
            continue;
        }
        if (c == '"' || c == '\\')
            json += '\\';
        json += c;
    }
    return json + '"';
}

/* A number or a text. (torch.profiler's own ivalueToStr() is there from 2.5 on, writes `1.` and
 * leaves quotes as they are.) */
std::string json_of(const c10::IValue &v)
{
    char number[32];

    if (v.isString())
        return json_of(v.toStringRef());
    if (v.isBool())
        return v.toBool() ? "true" : "false";
    if (v.isInt())
        return std::to_string(v.toInt());
    snprintf(number, sizeof(number), "%.17g", v.toDouble());
    return std::isfinite(v.toDouble()) ? number : '"' + std::string(number) + '"';
}

void add_keywords(std::string &more, const at::RecordFunction &fn)
{
    for (const auto &member : fn.kwinputs()) {
        const c10::IValue &v = member.second;

        if (!(v.isDouble() || v.isInt() || v.isBool() || v.isString()) ||
            (v.isString() && v.toStringRef().size() > TEXT_BYTES))
            continue;
        add(more, member.first, json_of(v));
    }
}

/* ---- the callbacks ---- */

sl_torch_op op_of(const at::RecordFunction &fn)
{
    sl_torch_op op{};

    op.name = fn.name();
    op.handle = fn.handle();
    op.sequence = fn.seqNr();
    op.thread = static_cast<uint32_t>(fn.threadId());
    op.forward_thread = static_cast<uint32_t>(fn.forwardThreadId());
    op.scope = static_cast<uint8_t>(fn.scope());
    op.is_async = fn.isAsync();
    return op;
}

void tell(sl_torch_op &op, const std::string &more)
{
    op.more = more.data();
    op.more_length = static_cast<uint32_t>(more.size());
    host->begin(&op);
}

__attribute__((noinline)) void tell_collective(sl_torch_op &op, const at::RecordFunction &fn)
{
    std::string more;

    try {
        add_collective(more, fn);
    } catch (const std::exception &) {
        op.was_cut = 1;
    }
    tell(op, more);
}

/* Nothing of ours may come out of an operator. What has been written by then is told. */
std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction &fn)
{
    sl_torch_op op = op_of(fn);

    if (fn.isNcclMeta())
        tell_collective(op, fn);
    else
        host->begin(&op);
    return nullptr;
}

std::unique_ptr<at::ObserverContext> on_start_with_inputs(const at::RecordFunction &fn)
{
    uint8_t bytes[INPUTS_BYTES];
    Writer inputs(bytes);
    std::string more;
    sl_torch_op op = op_of(fn);

    try {
        inputs.put_all(fn.inputs());
        if (fn.isNcclMeta())
            add_collective(more, fn);
        if (fn.scope() == at::RecordScope::FUNCTION)
            add_keywords(more, fn);
    } catch (const std::exception &) {
        op.was_cut = 1;
    }
    op.was_cut |= inputs.was_cut();
    op.inputs = bytes;
    op.inputs_length = inputs.length();
    tell(op, more);
    return nullptr;
}

void on_end(const at::RecordFunction &fn, at::ObserverContext *)
{
    host->end(fn.handle(), static_cast<uint8_t>(fn.scope()), fn.isAsync());
}

/* ---- the outside ---- */

/* Callbacks that are disabled cost an operator nothing: they are made when they are first wanted,
 * and stay. */
void set(at::CallbackHandle &handle, bool on, const at::RecordFunctionCallback &callback)
{
    if (handle && on)
        at::reenableCallback(handle);
    else if (handle)
        at::disableCallback(handle);
    else if (on)
        handle = at::addGlobalCallback(callback);
}

using Scopes = std::unordered_set<at::RecordScope, std::hash<at::RecordScope>>;

at::RecordFunctionCallback callback(bool with_inputs, const Scopes &which)
{
    return at::RecordFunctionCallback(with_inputs ? on_start_with_inputs : on_start, on_end)
        .needsInputs(with_inputs)
        .needsIds(true)
        .scopes(which);
}

Scopes all_but_the_users()
{
    Scopes which;

    for (int i = 0; i < static_cast<int>(at::RecordScope::NUM_SCOPES); i++)
        which.insert(static_cast<at::RecordScope>(i));
    which.erase(at::RecordScope::USER_SCOPE);
    return which;
}

/* PyTorch keeps a list of callbacks for each scope: what is only of the user's costs nothing
 * elsewhere. */
int watch(int with_inputs)
{
    try {
        set(scopes, true, callback(with_inputs, {at::RecordScope::USER_SCOPE}));
    } catch (const std::exception &) {
        return -ENOTSUP;
    }
    return 0;
}

int set_both(bool is_lean, bool is_full)
{
    try {
        const Scopes which = all_but_the_users();

        set(lean, is_lean, callback(false, which));
        set(full, is_full, callback(true, which));
    } catch (const std::exception &) {
        return -ENOTSUP;
    }
    return 0;
}

int enable(int with_inputs)
{
    return set_both(!with_inputs, with_inputs);
}

int disable()
{
    return set_both(false, false);
}

} // namespace

extern "C" __attribute__((visibility("default"))) int sl_torch_observer(
    const struct sl_torch_ops_host *given, struct sl_torch_ops_observer *out)
{
    if (given->abi != SL_TORCH_OPS_ABI)
        return -ENOTSUP;
    host = given;
    out->abi = SL_TORCH_OPS_ABI;
    out->built_for = BUILT_FOR;
    out->watch = watch;
    out->enable = enable;
    out->disable = disable;
    return 0;
}
