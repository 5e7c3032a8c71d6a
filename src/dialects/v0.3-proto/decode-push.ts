import type { JsonObject } from '../../protocol/model.ts'
import type { PushConfig } from '../../protocol/service.ts'
import type { TypeOf } from '../shape.ts'
import { carrying } from './carry.ts'
import type { ConfigAddress } from './names.ts'
import type * as wire from './seldom-schemas.ts'

type WirePushConfig = TypeOf<typeof wire.PushConfig>

/** The model has one scheme of authentication: the first. */
export function decodePushConfig(config: WirePushConfig, kept: JsonObject = {}): PushConfig {
  const { authentication, ...fields } = config
  if (authentication === undefined) return { ...fields, ...carrying(kept) }
  const { schemes = [], credentials } = authentication
  const [scheme, ...others] = schemes
  if (scheme === undefined) return { ...fields, ...carrying({ ...kept, credentials: credentials ?? '' }) }
  const carry = carrying(others.length > 0 ? { ...kept, schemes } : kept)
  return { ...fields, authentication: { scheme, credentials }, ...carry }
}

/** A config has its id in its name. Some have another one beside, or none. */
export function decodeNamedConfig(config: WirePushConfig, address: ConfigAddress, kept: JsonObject = {}): PushConfig {
  const own = config.id === address.id ? kept : { ...kept, id: config.id ?? '' }
  return { ...decodePushConfig(config, own), ...address }
}
