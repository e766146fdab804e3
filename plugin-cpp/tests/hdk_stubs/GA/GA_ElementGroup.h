#include "../hdk_stub.h"
