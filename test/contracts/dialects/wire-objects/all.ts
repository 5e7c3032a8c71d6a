import { v0_1WireObjects } from './v0.1.ts'
import { v0_2WireObjects } from './v0.2.ts'
import { v0_3WireObjects } from './v0.3.ts'
import { v0_3ProtoWireObjects } from './v0.3-proto.ts'
import { v1_0WireObjects } from './v1.0.ts'
import type { WireObjects } from './wire-objects.ts'

export const wireObjects: readonly WireObjects[] = [
  v1_0WireObjects,
  v0_3WireObjects,
  v0_3ProtoWireObjects,
  v0_2WireObjects,
  v0_1WireObjects,
]
