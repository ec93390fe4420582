// The stand-in for libcuda: the functions of src/backends/cuda/driver_functions.def. Each call is traced, may be told
// to fail, and checks what it is given; work runs on streams' threads.
#include <chrono>
#include <cstdlib>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>
#include <unordered_set>
#include <utility>

#include <unistd.h>

#include "launch.h"
#include "memory.h"
#include "objects.h"
#include "settings.h"
#include "trace.h"

using namespace standin;
using namespace tenon::cuda;

// Definitions below must be those of the list.
extern "C" {
#define DRIVER(name, symbol, parameters) __attribute__((visibility("default"))) Result symbol parameters;
#include "backends/cuda/driver_functions.def"
#undef DRIVER
__attribute__((visibility("default"))) const char* standin_reports();
}

namespace {

constexpr int most_devices = 8;
DeviceObject devices[most_devices];
thread_local DeviceObject* current = nullptr;
std::mutex mutex;  // of the counts below, of `retained` and of executables()
int streams = 0, events = 0, modules = 0, graphs = 0;

// The driver's as much as its caller's, who cannot give them back after a fault: they are no leak.
std::unordered_set<GraphExecObject*>& executables() {
  static auto& all = *new std::unordered_set<GraphExecObject*>;
  return all;
}

int device_count() { return int(std::min<long long>(number_setting("TENON_STANDIN_DEVICES", 1), most_devices)); }
int capability() { return int(number_setting("TENON_STANDIN_CAPABILITY", 75)); }
size_t device_memory() { return size_t(number_setting("TENON_STANDIN_MEMORY", 4ll << 30)); }

void fail(DeviceObject& device, Result r) {
  Result none = 0;
  if (result::sticky(r)) device.failure.compare_exchange_strong(none, r);
}

// What every call does first: the answer is an error that it must give, or success.
Result enter(const char* symbol) {
  if (const Result r = injected(symbol)) {
    trace(std::string(symbol) + " fails with " + std::to_string(r));
    if (current) fail(*current, r);
    return r;
  }
  if (!current) return result::invalid_context;
  return current->failure;
}
#define ENTER(symbol)                                                      \
  if (const Result entered = enter(#symbol); entered != result::success) return entered

// A call that the real driver refuses as well.
Result refuse(const std::string& why, Result r = result::invalid_value) {
  report(why);
  return r;
}

template <class... T>
void note(const T&... parts) {
  if (!tracing()) return;
  std::ostringstream out;
  (out << ... << parts);
  trace(out.str());
}

char* pointer(DeviceAddress a) { return reinterpret_cast<char*>(uintptr_t(a)); }
std::string name(DeviceAddress a) {
  const std::string n = memory().name(pointer(a));
  return n.empty() ? "?" : n;
}
StreamObject& object(Stream s) { return *reinterpret_cast<StreamObject*>(s); }
EventObject& object(Event e) { return *reinterpret_cast<EventObject*>(e); }
GraphExecObject& object(Graph g) { return *reinterpret_cast<GraphExecObject*>(g); }
GraphExecObject& object(GraphExec g) { return *reinterpret_cast<GraphExecObject*>(g); }
ModuleObject& object(Module m) { return *reinterpret_cast<ModuleObject*>(m); }
FunctionObject& object(Function f) { return *reinterpret_cast<FunctionObject*>(f); }

void post(StreamObject& s, std::function<void()> work) {
  if (s.captured) return s.captured->work.push_back(std::move(work));
  s.work.post([&s, work = std::move(work)] {
    if (s.device->failure == result::success) work();
  });
}

Result post_copy(const char* symbol, Stream stream, void* to, const void* from, size_t bytes) {
  if (!stream) return refuse(std::string(symbol) + " on the default stream", result::invalid_handle);
  const long long slow = number_setting("TENON_STANDIN_SLOW_COPY", 0);
  post(object(stream), [=] {
    if (slow) std::this_thread::sleep_for(std::chrono::milliseconds(slow));
    std::memmove(to, from, bytes);
  });
  return result::success;
}

bool on_device(DeviceAddress a, size_t bytes, const char* symbol) {
  if (memory().contains(pointer(a), bytes)) return true;
  report(std::string(symbol) + " of " + std::to_string(bytes) + " bytes: " + memory().describe(pointer(a)));
  return false;
}

// Texts for tools/check_kernels; one text is written once, whoever loads it.
void keep(const Image& image) {
  const char* folder = std::getenv("TENON_STANDIN_KEEP");
  if (!folder || !*folder) return;
  const std::string path = std::string(folder) + "/" + hash_of(image.text) + "_" + image.name;
  if (std::ifstream(path)) return;
  const std::string own = path + std::to_string(::getpid());
  std::ofstream(own) << image.text;
  std::rename(own.c_str(), path.c_str());
}

struct ErrorText {
  Result code;
  const char *name, *text;
};
constexpr ErrorText error_texts[] = {
    {result::success, "CUDA_SUCCESS", "no error"},
    {result::invalid_value, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {result::out_of_memory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {result::not_initialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {result::no_device, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {result::invalid_device, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {result::invalid_image, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {result::invalid_context, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {result::no_binary_for_gpu, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {result::ecc_uncorrectable, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {result::invalid_handle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {result::not_found, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {result::not_ready, "CUDA_ERROR_NOT_READY", "device not ready"},
    {result::illegal_address, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {result::launch_out_of_resources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {result::launch_timeout, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {result::launch_failed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {result::unknown, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const ErrorText* find_error(Result r) {
  for (const ErrorText& e : error_texts)
    if (e.code == r) return &e;
  return nullptr;
}

}  // namespace

const char* standin_reports() {
  static thread_local std::string text;
  text = take_reports();
  return text.c_str();
}

// ------------------------------------------------------------------------------------------------- driver and devices

Result cuInit(unsigned) {
  if (const Result r = injected("cuInit")) return r;
  trace("cuInit");
  return device_count() > 0 ? result::success : result::no_device;
}
Result cuDriverGetVersion(int* version) {
  *version = 13000;
  return result::success;
}
Result cuGetErrorName(Result error, const char** text) {
  const ErrorText* e = find_error(error);
  *text = e ? e->name : nullptr;
  return e ? result::success : result::invalid_value;
}
Result cuGetErrorString(Result error, const char** text) {
  const ErrorText* e = find_error(error);
  *text = e ? e->text : nullptr;
  return e ? result::success : result::invalid_value;
}
Result cuDeviceGetCount(int* count) {
  *count = device_count();
  return result::success;
}
Result cuDeviceGet(DeviceNumber* device, int ordinal) {
  if (ordinal < 0 || ordinal >= device_count()) return result::invalid_device;
  *device = ordinal;
  return result::success;
}
Result cuDeviceGetName(char* text, int size, DeviceNumber device) {
  std::strncpy(text, ("stand-in " + std::to_string(device)).c_str(), size_t(size));
  return result::success;
}
Result cuDeviceGetAttribute(int* value, int which, DeviceNumber) {
  switch (which) {
    case attribute::max_threads: *value = int(BlockRunner::max_threads); break;
    case attribute::max_grid_x: *value = 2147483647; break;
    case attribute::max_grid_y: *value = 65535; break;
    case attribute::shared_bytes: *value = int(BlockRunner::max_static_shared); break;
    case attribute::shared_bytes_opt_in: *value = 64 << 10; break;
    case attribute::warp_size: *value = 32; break;
    case attribute::multiprocessors: *value = 4; break;
    case attribute::capability_major: *value = capability() / 10; break;
    case attribute::capability_minor: *value = capability() % 10; break;
    default: return refuse("attribute " + std::to_string(which) + " is not known to the stand-in");
  }
  return result::success;
}
Result cuDeviceTotalMem_v2(size_t* bytes, DeviceNumber) {
  *bytes = device_memory();
  return result::success;
}
Result cuDevicePrimaryCtxRetain(Context* context, DeviceNumber device) {
  if (const Result r = injected("cuDevicePrimaryCtxRetain")) return r;
  note("cuDevicePrimaryCtxRetain ", device);
  std::lock_guard lock(mutex);
  devices[device].ordinal = device;
  ++devices[device].retained;
  *context = reinterpret_cast<Context>(&devices[device]);
  return result::success;
}
Result cuDevicePrimaryCtxRelease_v2(DeviceNumber device) {
  note("cuDevicePrimaryCtxRelease ", device);
  std::lock_guard lock(mutex);
  if (--devices[device].retained > 0) return result::success;
  memory().free_all(&devices[device]);
  devices[device].failure = result::success;
  return result::success;
}
Result cuCtxSetCurrent(Context context) {
  current = reinterpret_cast<DeviceObject*>(context);
  return result::success;
}

// -------------------------------------------------------------------------------------------------- memory and copies

Result cuMemGetInfo_v2(size_t* free, size_t* total) {
  ENTER(cuMemGetInfo_v2);
  *total = device_memory();
  *free = *total - std::min(*total, memory().in_use(current));
  return result::success;
}
Result cuMemAlloc_v2(DeviceAddress* address, size_t bytes) {
  ENTER(cuMemAlloc_v2);
  if (bytes == 0) return refuse("cuMemAlloc of 0 bytes");
  size_t free = 0, total = 0;
  cuMemGetInfo_v2(&free, &total);
  char* p = bytes <= free ? memory().alloc(bytes, current) : nullptr;
  note("cuMemAlloc ", bytes, " ", p ? memory().name(p) : "out of memory");
  *address = reinterpret_cast<uintptr_t>(p);
  return p ? result::success : result::out_of_memory;
}
Result cuMemFree_v2(DeviceAddress address) {
  ENTER(cuMemFree_v2);
  note("cuMemFree ", name(address));
  std::string wrong;
  if (!memory().free(pointer(address), &wrong)) return refuse("cuMemFree of what is no allocation");
  if (!wrong.empty()) report(wrong);
  return result::success;
}
Result cuMemHostAlloc(void** p, size_t bytes, unsigned) {
  ENTER(cuMemHostAlloc);
  note("cuMemHostAlloc ", bytes);
  *p = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  return *p ? result::success : result::out_of_memory;
}
Result cuMemFreeHost(void* p) {
  trace("cuMemFreeHost");
  std::free(p);
  return result::success;
}
Result cuMemcpyHtoDAsync_v2(DeviceAddress to, const void* from, size_t bytes, Stream stream) {
  ENTER(cuMemcpyHtoDAsync_v2);
  note("cuMemcpyHtoDAsync ", name(to), " ", bytes, " ", hash_of(std::string(static_cast<const char*>(from), bytes)));
  if (!on_device(to, bytes, "cuMemcpyHtoDAsync")) return result::invalid_value;
  return post_copy("cuMemcpyHtoDAsync", stream, pointer(to), from, bytes);
}
Result cuMemcpyDtoHAsync_v2(void* to, DeviceAddress from, size_t bytes, Stream stream) {
  ENTER(cuMemcpyDtoHAsync_v2);
  note("cuMemcpyDtoHAsync ", name(from), " ", bytes);
  if (!on_device(from, bytes, "cuMemcpyDtoHAsync")) return result::invalid_value;
  return post_copy("cuMemcpyDtoHAsync", stream, to, pointer(from), bytes);
}
Result cuMemcpyDtoDAsync_v2(DeviceAddress to, DeviceAddress from, size_t bytes, Stream stream) {
  ENTER(cuMemcpyDtoDAsync_v2);
  note("cuMemcpyDtoDAsync ", name(to), " ", name(from), " ", bytes);
  if (!on_device(to, bytes, "cuMemcpyDtoDAsync") || !on_device(from, bytes, "cuMemcpyDtoDAsync")) return result::invalid_value;
  return post_copy("cuMemcpyDtoDAsync", stream, pointer(to), pointer(from), bytes);
}

// ------------------------------------------------------------------------------------------------- streams and events

Result cuStreamCreate(Stream* stream, unsigned flags) {
  ENTER(cuStreamCreate);
  std::lock_guard lock(mutex);
  note("cuStreamCreate s", ++streams, " flags ", flags);
  *stream = reinterpret_cast<Stream>(new StreamObject{current, WorkQueue(streams), nullptr});
  return result::success;
}
Result cuStreamDestroy_v2(Stream stream) {
  note("cuStreamDestroy s", object(stream).work.number());
  delete &object(stream);
  return result::success;
}
// One stream's work alone is captured: the graphs have no branches.
Result cuStreamBeginCapture_v2(Stream stream, int mode) {
  ENTER(cuStreamBeginCapture_v2);
  note("cuStreamBeginCapture s", object(stream).work.number(), " mode ", mode);
  if (object(stream).captured) return refuse("cuStreamBeginCapture of a stream that is captured already");
  std::lock_guard lock(mutex);
  object(stream).captured = std::make_shared<GraphObject>(GraphObject{++graphs, {}});
  return result::success;
}
Result cuStreamEndCapture(Stream stream, Graph* graph) {
  StreamObject& s = object(stream);
  if (!s.captured) return refuse("cuStreamEndCapture of a stream that is not captured");
  const auto captured = std::exchange(s.captured, nullptr);
  ENTER(cuStreamEndCapture);
  note("cuStreamEndCapture s", s.work.number(), " g", captured->number, " of ", captured->work.size());
  *graph = reinterpret_cast<Graph>(new GraphExecObject{captured->number, captured});
  return result::success;
}
Result cuGraphDestroy(Graph graph) {
  note("cuGraphDestroy g", object(graph).number);
  delete &object(graph);
  return result::success;
}
Result cuGraphInstantiateWithFlags(GraphExec* executable, Graph graph, unsigned long long flags) {
  ENTER(cuGraphInstantiateWithFlags);
  note("cuGraphInstantiate g", object(graph).number, " flags ", flags);
  const auto made = new GraphExecObject(object(graph));
  std::lock_guard lock(mutex);
  executables().insert(made);
  *executable = reinterpret_cast<GraphExec>(made);
  return result::success;
}
Result cuGraphLaunch(GraphExec executable, Stream stream) {
  ENTER(cuGraphLaunch);
  note("cuGraphLaunch g", object(executable).number, " s", object(stream).work.number());
  if (!stream || object(stream).captured) return refuse("cuGraphLaunch on the default stream or while one is captured");
  for (const auto& work : object(executable).graph->work) post(object(stream), work);
  return result::success;
}
Result cuGraphExecDestroy(GraphExec executable) {
  note("cuGraphExecDestroy g", object(executable).number);
  std::lock_guard lock(mutex);
  executables().erase(&object(executable));
  delete &object(executable);
  return result::success;
}
Result cuEventCreate(Event* event, unsigned flags) {
  ENTER(cuEventCreate);
  std::lock_guard lock(mutex);
  note("cuEventCreate e", ++events, " flags ", flags);
  auto* made = new EventObject;
  made->number = events;
  made->timed = !(flags & event_disable_timing);
  *event = reinterpret_cast<Event>(made);
  return result::success;
}
Result cuEventDestroy_v2(Event event) {
  note("cuEventDestroy e", object(event).number);
  delete &object(event);
  return result::success;
}
Result cuEventRecord(Event event, Stream stream) {
  ENTER(cuEventRecord);
  note("cuEventRecord e", object(event).number, " s", object(stream).work.number());
  if (object(stream).captured) return refuse("cuEventRecord while the stream is captured: nobody could wait for it");
  if (EventObject* timed = object(event).timed ? &object(event) : nullptr) {
    timed->passed_at = 0;
    post(object(stream), [timed] { timed->passed_at = std::chrono::steady_clock::now().time_since_epoch().count(); });
  }
  object(event).stream = &object(stream);
  object(event).position = object(stream).work.position();
  return result::success;
}
Result cuEventQuery(Event event) {  // not traced: how often it is asked depends on time
  ENTER(cuEventQuery);
  const EventObject& e = object(event);
  if (e.stream && !e.stream->work.passed(e.position)) return result::not_ready;
  return current->failure;
}
Result cuEventSynchronize(Event event) {
  ENTER(cuEventSynchronize);
  const EventObject& e = object(event);
  note("cuEventSynchronize e", e.number);
  if (e.stream) e.stream->work.wait(e.position);
  return current->failure;
}
Result cuEventElapsedTime(float* milliseconds, Event from, Event to) {  // not traced, as cuEventQuery
  ENTER(cuEventElapsedTime);
  for (const Event e : {from, to}) {
    if (!object(e).timed || !object(e).stream) return refuse("cuEventElapsedTime of an event without a time", result::invalid_handle);
    if (!object(e).stream->work.passed(object(e).position)) return result::not_ready;
  }
  *milliseconds = float(double(object(to).passed_at - object(from).passed_at) * 1e-6);
  return result::success;
}

// ---------------------------------------------------------------------------------------------------------- kernels

Result cuModuleLoadData(Module* module, const void* image) {
  ENTER(cuModuleLoadData);
  auto m = std::make_unique<ModuleObject>();
  if (!unpack(static_cast<const char*>(image), &m->image)) return refuse("an image that the stand-in's NVRTC did not make", result::invalid_image);
  if (m->image.capability > capability()) return result::no_binary_for_gpu;
  m->hash = compiler().add(m->image);
  keep(m->image);
  std::lock_guard lock(mutex);
  m->number = ++modules;
  note("cuModuleLoadData ", m->image.name, " ", hash_of(m->image.text));
  *module = reinterpret_cast<Module>(m.release());
  return result::success;
}
Result cuModuleUnload(Module module) {
  note("cuModuleUnload ", object(module).image.name);
  delete &object(module);
  return result::success;
}
Result cuModuleGetFunction(Function* function, Module module, const char* wanted) {
  ENTER(cuModuleGetFunction);
  ModuleObject& m = object(module);
  note("cuModuleGetFunction ", wanted);
  for (const std::string& k : kernels_of(m.image.text))
    if (k == wanted) {
      *function = reinterpret_cast<Function>(&m.functions.emplace_back(FunctionObject{m.hash, k}));
      return result::success;
    }
  return result::not_found;
}
Result cuFuncSetAttribute(Function function, int which, int value) {
  ENTER(cuFuncSetAttribute);
  note("cuFuncSetAttribute ", object(function).name, " ", which, " ", value);
  if (which != function_max_dynamic_shared || value > 64 << 10) return result::invalid_value;
  object(function).dynamic_limit = size_t(value);
  return result::success;
}
Result cuLaunchKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                      unsigned block_z, unsigned shared_bytes, Stream stream, void** parameters, void** extra) {
  ENTER(cuLaunchKernel);
  const FunctionObject& f = object(function);
  auto launch = std::make_shared<Launch>();
  launch->kernel = f.name;
  launch->shape = {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, Order::forward};
  if (!stream || extra) return refuse("a launch on the default stream, or with packed parameters", result::invalid_handle);
  if (const std::string over = over_limits(launch->shape, f.dynamic_limit); !over.empty())
    return refuse("launch of " + f.name + ": " + over);
  std::string log;
  launch->code = compiler().find(f.hash, f.name, &log);
  if (!launch->code.kernel) return refuse("the host's compiler does not take " + f.name + ":\n" + log, result::invalid_image);
  for (unsigned i = 0; i < launch->code.kernel->parameters; ++i) {
    const char* p = static_cast<const char*>(parameters[i]);
    launch->parameters.emplace_back(p, p + launch->code.kernel->sizes[i]);
  }
  note("cuLaunchKernel ", f.name, " ", describe(*launch));
  DeviceObject* device = current;
  post(object(stream), [launch, device] {
    if (const Result r = injected("run")) return fail(*device, r);
    const std::string wrong = run(*launch);
    if (wrong.empty()) return;
    report(launch->kernel + ": " + wrong);
    fail(*device, wrong.starts_with("an access") ? result::illegal_address : result::launch_failed);
  });
  return result::success;
}
