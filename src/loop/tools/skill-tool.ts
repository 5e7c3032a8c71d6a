import {
  type AgentResult,
  type AgentYield,
  isAsyncIterable,
  isEvent,
  isSubscribable,
} from '../../core/agent/agent-function.ts'
import { toParts } from '../../core/agent/content.ts'
import { iterate } from '../../core/agent/observable.ts'
import { checkOutput } from '../../core/agent/run-skill.ts'
import type { Skill } from '../../core/agent/skill.ts'
import { type TextInput, textJsonSchema } from '../../core/client/remote-tool.ts'
import { type Part, textOf } from '../../core/protocol/model.ts'
import { type LocalTool, localTool, type ToolContext, textInput } from './tool.ts'
import { partsResult } from './tool-result.ts'

/** Turns a skill of the agent into a tool of its loop: for messages that name no skill, the model chooses one. */
export function skillTool(skill: Skill): LocalTool {
  const { id, name, description = name, schemas, security = [] } = skill
  if (security.length > 0) {
    throw new TypeError(`skillTool(${id}): a skill with security of its own runs only for callers that name it`)
  }
  const { input: inputSchema } = schemas
  if (inputSchema?.jsonSchema && inputSchema.jsonSchema.type !== 'object') {
    throw new TypeError(`skillTool(${id}): a model can only give it an object, and it takes something else`)
  }
  return localTool({
    name: id.replace(/[^\w-]/g, '_').slice(0, 64),
    description,
    input: inputSchema?.schema ?? textInput,
    inputJsonSchema: inputSchema ? inputSchema.jsonSchema : textJsonSchema,
    usesTurn: true,
    async run(input, context) {
      const { turn } = context
      if (!turn) throw new Error('a skill needs a turn: the loop must be that of an agent')
      const result = await finish(skill.run(inputSchema ? input : (input as TextInput).text, turn), context)
      const output = await checkOutput(skill, result, turn)
      if (output === undefined) return 'Done.'
      const [only] = toParts(output)
      return schemas.output && only && 'data' in only ? only.data : partsResult(toParts(output))
    },
  })
}

/** Forwards what the skill yields to the caller, and returns its result for the model. */
async function finish(running: unknown, { signal, progress, artifact }: ToolContext): Promise<unknown> {
  const stream = isSubscribable<AgentYield>(running) ? iterate(running, signal) : running
  if (!isAsyncIterable<AgentYield, AgentResult>(stream)) return await stream
  const iterator = stream[Symbol.asyncIterator]()
  const parts: Part[] = []
  for (;;) {
    const next = await iterator.next()
    if (next.done) {
      if (parts.length > 0) artifact({ name: 'response', parts })
      return next.value
    }
    const { value } = next
    if (value === undefined) continue
    if (!isEvent(value)) parts.push(...toParts(value))
    else if (value.type === 'artifact') parts.push(...value.artifact.parts)
    else if (value.status.message) progress(textOf(value.status.message))
  }
}
