import type { ClientDialect } from '../dialect.ts'
import { decodeCard } from './decode-card.ts'
import { readingWith } from './decode-result.ts'
import { v0_3ProtoLight } from './light.ts'

export const v0_3ProtoClient: ClientDialect = { ...v0_3ProtoLight, ...readingWith(decodeCard) }
