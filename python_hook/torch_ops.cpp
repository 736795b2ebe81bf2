/*
 * torch_ops.cpp - the observer of PyTorch operators.
 *
 * Only this file is compiled against PyTorch's headers, once for each minor version
 * (build_observers.sh), because the layout of at::RecordFunction differs. The observer reads an
 * operator's name, number and inputs, and passes them to the library (collect/torch/ops_abi.h). The
 * library records them.
 *
 * Threads: the callbacks run on the thread of the operator. They allocate only for collectives, for
 * keyword arguments, and for a thread's first operator. Inputs are written into a buffer on the
 * thread's stack.
 */
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/profiler/util.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <exception>
#include <iomanip>
#include <limits>
#include <locale>
#include <sstream>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>

#include "collect/torch/ops_abi.h"
#include "torch_caller.hpp"

#ifndef NDEBUG
#error "at::RecordFunction has another layout without NDEBUG, which PyTorch is built with"
#endif
#ifndef BUILT_FOR
#error "build_observers.sh says for which version of PyTorch this is"
#endif
#define INPUTS_BYTES 3072
#define NUMBER_BYTES 10
/* Number of values that fit after the nominal end of the buffer. If an item (a tensor of few
 * dimensions) begins before the nominal end, it can be completed there. */
#define NUMBERS_BEHIND 10
#define BYTES_BEHIND   (3 + NUMBER_BYTES * (1 + NUMBERS_BEHIND))
#define MORE_BYTES     1024
/* maximum length of a text in keyword arguments; longer texts are left out */
#define TEXT_BYTES 200

namespace
{

const sl_torch_ops_host *host;
at::CallbackHandle scopes, lean, full;

/* ---- private members of at::RecordFunction ---- */

/* C++ allows an explicit template instantiation to name private members. This file reads two
 * private members, because the public functions would slow down every operator. One function copies
 * a map that is nearly always empty. The other function returns a name without its length. */
template <typename Which, typename Which::Type member> struct Opened {
    friend typename Which::Type member_of(Which)
    {
        return member;
    }
};

struct Function {
    using Type = std::variant<std::string, at::RecordFunction::schema_ref_t> at::RecordFunction::*;
    friend Type member_of(Function);
};
template struct Opened<Function, &at::RecordFunction::fn_>;

struct Keywords {
    using Type = std::unordered_map<std::string, c10::IValue> at::RecordFunction::*;
    friend Type member_of(Keywords);
};
template struct Opened<Keywords, &at::RecordFunction::kwinputs_>;

/* ---- encoding of the inputs of an operator ---- */

/* the same set of keys as in TensorImpl::layout() */
constexpr c10::DispatchKeySet other_layouts = c10::sparse_ks | c10::sparse_csr_ks | c10::mkldnn_ks;

/* Each put function writes one item and returns the end of the item, or nullptr if there is no
 * room. Positions are passed by value. A member variable would be read again after each written
 * byte, because the compiler assumes that the byte may have changed it. */
class Writer
{
  public:
    explicit Writer(uint8_t *bytes) : bytes_(bytes), end_(bytes + INPUTS_BYTES)
    {
    }

    /* Writes only complete items. The attribute `flatten` inlines the called functions, most of
     * which only check a tag. */
    __attribute__((flatten)) void put_all(c10::ArrayRef<const c10::IValue> inputs)
    {
        for (const c10::IValue &input : inputs) {
            uint8_t *behind = put(bytes_ + length_, input);

            if (!behind) {
                cut_ = true;
                break;
            }
            length_ = static_cast<uint32_t>(behind - bytes_);
        }
    }

    uint32_t length() const
    {
        return length_;
    }

    bool was_cut() const
    {
        return cut_;
    }

  private:
    uint8_t *bytes_, *end_;
    uint32_t length_ = 0;
    bool cut_ = false;

    /* Returns whether an item without sizes may be written at `at`. BYTES_BEHIND leaves room for
     * such an item after end_. */
    bool has_room(const uint8_t *at) const
    {
        return at <= end_;
    }

    bool has_room_for(const uint8_t *at, size_t numbers) const
    {
        return numbers <= NUMBERS_BEHIND ||
               static_cast<size_t>(end_ - at) / NUMBER_BYTES >= numbers;
    }

    /* The functions below do not check for room, because their callers have checked. */
    static uint8_t *kind(uint8_t *at, sl_op_input kind)
    {
        *at = static_cast<uint8_t>(kind);
        return at + 1;
    }

    static uint8_t *number(uint8_t *at, uint64_t value)
    {
        for (; value >= 0x80; value >>= 7)
            *at++ = static_cast<uint8_t>(value | 0x80);
        *at++ = static_cast<uint8_t>(value);
        return at;
    }

    static uint8_t *numbers(uint8_t *at, c10::IntArrayRef values)
    {
        for (int64_t value : values)
            at = number(at, static_cast<uint64_t>(value));
        return at;
    }

    static uint8_t *bits(uint8_t *at, double value)
    {
        memcpy(at, &value, sizeof(value));
        return at + sizeof(value);
    }

    /* A Python class may override the tensor's methods with code of the program, which needs the
     * GIL. So this function does not call the methods, but reads the properties that the tensor got
     * at its creation. */
    uint8_t *put(uint8_t *at, const at::Tensor &t)
    {
        const c10::TensorImpl &own = *t.unsafeGetTensorImpl();

        if (!has_room(at))
            return nullptr;
        if (!t.defined() || t.is_nested() || own.has_symbolic_sizes_strides())
            return kind(at, SL_OP_INPUT_OTHER);
        bool is_pythons = own.is_python_dispatch();
        bool has_strides =
            is_pythons ? !own.key_set().has_any(other_layouts) : t.layout() == at::kStrided;
        c10::IntArrayRef sizes = is_pythons ? own.sizes_default() : t.sizes();
        if (!has_room_for(at, 2 * sizes.size()))
            return nullptr;
        at = kind(at, has_strides ? SL_OP_INPUT_TENSOR : SL_OP_INPUT_LAYOUT);
        *at++ = static_cast<uint8_t>(t.scalar_type());
        at = numbers(number(at, sizes.size()), sizes);
        if (!has_strides)
            return at;
        return numbers(at, is_pythons ? own.strides_default() : t.strides());
    }

    uint8_t *put_scalar(uint8_t *at, const c10::IValue &v)
    {
        if (!has_room(at))
            return nullptr;
        if (v.isInt()) {
            int64_t value = v.toInt();

            return number(kind(at, SL_OP_INPUT_INT),
                          static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
        }
        if (v.isBool())
            return kind(at, v.toBool() ? SL_OP_INPUT_TRUE : SL_OP_INPUT_FALSE);
        if (v.isDouble())
            return bits(kind(at, SL_OP_INPUT_DOUBLE), v.toDouble());
        if (v.isComplexDouble()) {
            c10::complex<double> value = v.toComplexDouble();

            return bits(bits(kind(at, SL_OP_INPUT_COMPLEX), value.real()), value.imag());
        }
        return kind(at, SL_OP_INPUT_SYMBOL);
    }

    uint8_t *put(uint8_t *at, const c10::IValue &v)
    {
        if (v.isTensor())
            return put(at, v.toTensor());
        if (v.isScalar())
            return put_scalar(at, v);
        if (v.isList())
            return put_list(at, v);
        return has_room(at) ? kind(at, SL_OP_INPUT_OTHER) : nullptr;
    }

    __attribute__((noinline)) uint8_t *put_list(uint8_t *at, const c10::IValue &v)
    {
        c10::ArrayRef<c10::IValue> list = v.toListRef();
        bool is_short = list.size() <= SL_OP_INPUT_LIST_MOST;

        if (!has_room(at))
            return nullptr;
        if (v.isTensorList()) {
            at = number(kind(at, SL_OP_INPUT_TENSORS), list.size());
            for (size_t i = 0; at && is_short && i < list.size(); i++)
                at = put(at, list[i].toTensor());
        } else if (list.empty() || (is_short && list[0].isScalar())) {
            at = number(kind(at, SL_OP_INPUT_SCALARS), list.size());
            for (size_t i = 0; at && i < list.size(); i++)
                at = put_scalar(at, list[i]);
        } else {
            at = kind(at, SL_OP_INPUT_OTHER);
        }
        return at;
    }
};

/* ---- other details of an operator ---- */

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

/* Writes '.' as the decimal point in every locale. */
std::string json_of(double value)
{
    std::ostringstream text;

    text.imbue(std::locale::classic());
    text << std::setprecision(std::numeric_limits<double>::max_digits10) << value;
    return std::isfinite(value) ? text.str() : '"' + text.str() + '"';
}

/* Returns a number or a text as JSON. (torch.profiler's ivalueToStr() exists only from 2.5 on,
 * writes `1.`, and does not escape quotes.) */
std::string json_of(const c10::IValue &v)
{
    if (v.isString())
        return json_of(v.toStringRef());
    if (v.isBool())
        return v.toBool() ? "true" : "false";
    return v.isInt() ? std::to_string(v.toInt()) : json_of(v.toDouble());
}

void add(std::string &more, const std::string &key, const std::string &json)
{
    const std::string name = json_of(key);

    if (more.size() + name.size() + json.size() + 2 > MORE_BYTES)
        return;
    if (!more.empty())
        more += ',';
    more += name;
    more += ':';
    more += json;
}

/* Returns a collective's number, which is the first input behind the tensors: (number, is P2P), or
 * only the number in old versions. Returns 0 if there is none. */
int64_t number_of(const at::RecordFunction &fn)
{
    const auto inputs = fn.inputs();

    for (size_t i = 0; i < 2 && i < inputs.size(); i++) {
        const c10::IValue &input = inputs[i];

        if (input.isInt())
            return input.toInt();
        if (input.isTuple() && !input.toTupleRef().elements().empty() &&
            input.toTupleRef().elements()[0].isInt())
            return input.toTupleRef().elements()[0].toInt();
    }
    return 0;
}

/* The argument `async_op` of the thread's last operator of torch.distributed, until the operator's
 * collective begins; -1: none. */
thread_local int async_op = -1;

void note_async_op(const at::RecordFunction &fn)
{
    const auto *schema =
        std::get_if<at::RecordFunction::schema_ref_t>(&(fn.*member_of(Function())));
    const auto inputs = fn.inputs();

    async_op = -1;
    if (!schema || inputs.size() < schema->get().arguments().size())
        return;
    const auto &arguments = schema->get().arguments();
    const size_t first = inputs.size() - arguments.size();
    for (size_t i = 0; i < arguments.size(); i++)
        if (arguments[i].name() == "async_op" && inputs[first + i].isBool())
            async_op = inputs[first + i].toBool();
}

/* Returns the thread's current CUDA device, or -1. */
int current_device()
{
    if (!c10::impl::hasDeviceGuardImpl(c10::DeviceType::CUDA))
        return -1;
    return c10::impl::getDeviceGuardImpl(c10::DeviceType::CUDA)->getDevice().index();
}

/* Adds torch.profiler's members for a collective. Unlike torch.profiler, this escapes texts,
 * because the program chooses the names of groups. The device and the number come first, so that
 * the library can remove them. `Comms Id` is a hash of the number, which would make each text
 * different. */
void add_collective(std::string &more, const at::RecordFunction &fn)
{
    const int device = current_device();

    if (device >= 0)
        add(more, "Device", std::to_string(device));
    const auto members = torch::profiler::impl::saveNcclMeta(fn);
    const auto seq = members.find("Seq");
    const int is_async = std::exchange(async_op, -1);
    int64_t number = number_of(fn);

    if (number > 0)
        add(more, "Seq", std::to_string(number));
    else if (seq != members.end())
        add(more, "Seq", seq->second);
    for (const auto &member : members) {
        if (member.first == "Seq" || member.first == "Comms Id")
            continue;
        const std::string &value = member.second;
        bool is_text = value.size() > 1 && value.front() == '"';

        add(more, member.first, is_text ? json_of(value.substr(1, value.size() - 2)) : value);
    }
    if (is_async >= 0 && members.find("Is asynchronized op") == members.end())
        add(more, "Is asynchronized op", std::to_string(is_async));
}

void add_keywords(std::string &more, const at::RecordFunction &fn)
{
    for (const auto &member : fn.*member_of(Keywords())) {
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
    const auto &function = fn.*member_of(Function());
    const auto *schema = std::get_if<at::RecordFunction::schema_ref_t>(&function);
    /* a std::string has its length, and the result of fn.name() has not */
    const std::string &name = schema ? schema->get().name() : *std::get_if<std::string>(&function);
    sl_torch_op op{};

    op.name = name.c_str();
    op.name_length = name.size();
    op.handle = fn.handle();
    op.sequence = fn.seqNr();
    op.thread = static_cast<uint32_t>(fn.threadId());
    op.forward_thread = static_cast<uint32_t>(fn.forwardThreadId());
    op.scope = static_cast<uint8_t>(fn.scope());
    op.is_async = fn.isAsync();
    op.caller = torch_caller::find(schema != nullptr);
    return op;
}

bool has_keywords(const at::RecordFunction &fn)
{
    return fn.scope() == at::RecordScope::FUNCTION && !(fn.*member_of(Keywords())).empty();
}

/* Adds details that need an allocation. An exception in this function must not reach the operator.
 * So the function catches it, and the operator is reported with the details found so far. */
__attribute__((noinline)) void tell_more(sl_torch_op &op, const at::RecordFunction &fn)
{
    std::string more;

    try {
        if (fn.isNcclMeta())
            add_collective(more, fn);
        if (op.inputs && has_keywords(fn))
            add_keywords(more, fn);
    } catch (const std::exception &) {
        op.was_cut = 1;
    }
    op.more = more.data();
    op.more_length = static_cast<uint32_t>(more.size());
    host->begin(&op);
}

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction &fn)
{
    sl_torch_op op = op_of(fn);

    if (fn.isNcclMeta())
        tell_more(op, fn);
    else
        host->begin(&op);
    return nullptr;
}

std::unique_ptr<at::ObserverContext> on_start_with_inputs(const at::RecordFunction &fn)
{
    uint8_t bytes[INPUTS_BYTES + BYTES_BEHIND];
    Writer inputs(bytes);
    sl_torch_op op = op_of(fn);

    try {
        if (op.name_length > 6 && memcmp(op.name, "c10d::", 6) == 0)
            note_async_op(fn);
        inputs.put_all(fn.inputs());
        op.was_cut = inputs.was_cut();
    } catch (const std::exception &) {
        op.was_cut = 1;
    }
    op.inputs = bytes;
    op.inputs_length = inputs.length();
    if (fn.isNcclMeta() || has_keywords(fn))
        tell_more(op, fn);
    else
        host->begin(&op);
    return nullptr;
}

void on_end(const at::RecordFunction &fn, at::ObserverContext *)
{
    host->end(fn.handle(), static_cast<uint8_t>(fn.scope()), fn.isAsync());
}

/* ---- functions that the library calls ---- */

/* Enables or disables a callback. The callback is added when it is first enabled, and is never
 * removed. A disabled callback takes no time per operator. */
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

/* Turns on the reporting of user scopes. PyTorch has a list of callbacks for each kind of scope, so
 * this callback does not slow down operators. */
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

        torch_caller::forget();
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
