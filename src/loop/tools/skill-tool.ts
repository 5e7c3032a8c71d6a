import {
  type AgentResult,
  type AgentYield,
  isAsyncIterable,
  isEvent,
  isSubscribable,
} from '../../agent/agent-function.ts'
import { iterate } from '../../agent/observable.ts'
import { checkOutput } from '../../agent/run-skill.ts'
import type { Skill } from '../../agent/skill.ts'
import { toParts } from '../../agent/turn-output.ts'
import { type Part, textOf } from '../../protocol/model.ts'
import { type LocalTool, localTool, type TextInput, type ToolContext, textInput, textJsonSchema } from './tool.ts'
import { partsResult } from './tool-result.ts'

/** A skill of the agent as a tool of its loop: whoever does not name a skill leaves it to the model which one runs. */
export function skillTool(skill: Skill): LocalTool {
  const { id, name, description = name, schemas, security = [] } = skill
  if (security.length > 0) {
    throw new TypeError(`skillTool(${id}): a skill with security of its own is run only for those who name it`)
  }
  const { input } = schemas
  if (input?.jsonSchema && input.jsonSchema.type !== 'object') {
    throw new TypeError(`skillTool(${id}): a model can only give it an object, and it takes something else`)
  }
  return localTool({
    name: id.replace(/[^\w-]/g, '_').slice(0, 64),
    description,
    input: input?.schema ?? textInput,
    inputJsonSchema: input ? input.jsonSchema : textJsonSchema,
    usesTurn: true,
    async run(given, context) {
      const { turn } = context
      if (!turn) throw new Error('a skill needs a turn: the loop must be that of an agent')
      const made = await finish(skill.run(input ? given : (given as TextInput).text, turn), context)
      const output = await checkOutput(skill, made, turn)
      if (output === undefined) return 'Done.'
      const [only] = toParts(output)
      return schemas.output && only && 'data' in only ? only.data : partsResult(toParts(output))
    },
  })
}

/** What it tells before its end goes to the caller, and what it returns to the model. */
async function finish(running: unknown, { signal, progress, artifact }: ToolContext): Promise<unknown> {
  const stream = isSubscribable<AgentYield>(running) ? iterate(running, signal) : running
  if (!isAsyncIterable<AgentYield, AgentResult>(stream)) return await stream
  const steps = stream[Symbol.asyncIterator]()
  const parts: Part[] = []
  for (;;) {
    const step = await steps.next()
    if (step.done) {
      if (parts.length > 0) artifact({ name: 'response', parts })
      return step.value
    }
    const said = step.value
    if (said === undefined) continue
    if (!isEvent(said)) parts.push(...toParts(said))
    else if (said.type === 'artifact') parts.push(...said.artifact.parts)
    else if (said.status.message) progress(textOf(said.status.message))
  }
}
