#include "../openvdb.h"
