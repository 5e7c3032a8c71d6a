import { of0_1 } from './v0.1.ts'
import { of0_2 } from './v0.2.ts'
import { of0_3 } from './v0.3.ts'
import { of0_3Proto } from './v0.3-proto.ts'
import { of1_0 } from './v1.0.ts'
import type { WireObjects } from './wire-objects.ts'

export const wireObjects: readonly WireObjects[] = [of1_0, of0_3, of0_3Proto, of0_2, of0_1]
