import type { JsonObject } from '../../protocol/model.ts'
import type { PushConfig } from '../../protocol/service.ts'
import type { TypeOf } from '../shape.ts'
import { carrying } from './carry.ts'
import type * as wire from './seldom-schemas.ts'

/** The model has one scheme of authentication: the first. */
export function decodePushConfig(given: TypeOf<typeof wire.PushConfig>, kept: JsonObject = {}): PushConfig {
  const { authentication, ...config } = given
  if (authentication === undefined) return { ...config, ...carrying(kept) }
  const { schemes, ...secret } = authentication
  const [scheme, ...others] = schemes
  if (scheme === undefined) return { ...config, ...carrying({ ...kept, authentication: authentication as JsonObject }) }
  const carry = carrying(others.length > 0 ? { ...kept, schemes } : kept)
  return { ...config, authentication: { scheme, ...secret }, ...carry }
}
