import type { Rule } from './rule.ts'
import { accessRules } from './rules/access.ts'
import { cardRules } from './rules/card.ts'
import { dataRules } from './rules/data.ts'
import { envelopeRules } from './rules/envelopes.ts'
import { generationRules } from './rules/generations.ts'
import { webhookRules } from './rules/push.ts'
import { sendRules } from './rules/send.ts'
import { streamRules } from './rules/streams.ts'
import { taskRules } from './rules/tasks.ts'

/** All rules, in the order in which they are checked. */
export const rules: readonly Rule[] = [
  ...cardRules,
  ...envelopeRules,
  ...accessRules,
  ...sendRules,
  ...taskRules,
  ...dataRules,
  ...streamRules,
  ...webhookRules,
  ...generationRules,
]
