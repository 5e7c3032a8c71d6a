import type { JsonSchemaType, StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import type { Json, JsonObject } from '../../core/base/json.ts'
import type { Client } from '../../core/client/client.ts'
import type { Input } from '../../core/client/send-request.ts'
import { readSkillSchemas } from '../../core/protocol/extensions/typed-skills.ts'
import type { ConnectedAgent } from './agents.ts'

// Limits, because other parties write the cards.
const maxSkills = 256

const maxSchemaBytes = 64 * 1024

/** An MCP tool that runs a skill of an agent, or answers a question of one of its tasks. */
export interface SkillTool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly client: Client
  /** Undefined for the tool that answers questions. */
  readonly skill: string | undefined
  readonly input: StandardSchemaWithJSON
  readonly output: StandardSchemaWithJSON | undefined
  /** Converts the arguments to the message for the agent. */
  readonly toInput: (args: JsonObject) => Input
}

/** Compiles the schemas once. An invalid schema is reported, and the agent itself validates the input. */
export function createSkillTools(
  agents: readonly ConnectedAgent[],
  compile: Compile,
  onError: (error: unknown) => void,
): readonly SkillTool[] {
  const usedNames = new Set<string>()

  function uniqueName(preferred: string): string {
    const base = preferred.replace(/[^\w-]+/g, '_').slice(0, 60)
    let name = base
    for (let suffix = 2; usedNames.has(name); suffix++) name = `${base}_${suffix}`
    usedNames.add(name)
    return name
  }

  function compileSchema(schema: JsonObject | undefined, subject: string): StandardSchemaWithJSON | undefined {
    try {
      if (schema && JSON.stringify(schema).length > maxSchemaBytes)
        throw new Error(`it has more than ${maxSchemaBytes} bytes`)
      return schema && compile(schema as JsonSchemaType)
    } catch (error) {
      onError(new Error(`The schema of ${subject} cannot be used: ${error instanceof Error ? error.message : error}`))
      return undefined
    }
  }

  function toolsOf({ client, prefix }: ConnectedAgent): readonly SkillTool[] {
    const schemas = readSkillSchemas(client.card)
    // Created first, so that its name never has a suffix: results name it.
    const answer = { ...answerTool(client, compile), name: uniqueName(`${prefix}answer_task`) }
    const { name: agent, skills } = client.card
    if (skills.length > maxSkills) onError(new Error(`${agent} has more than ${maxSkills} skills: the first are used.`))
    const tools = skills.slice(0, maxSkills).map(({ id, name, description, examples = [] }): SkillTool => {
      const { input, output } = schemas.get(id) ?? {}
      const isWrapped = input !== undefined && input.type !== 'object'
      const inputSchema = isWrapped
        ? { type: 'object', properties: { input }, required: ['input'] }
        : (input ?? textSchema)
      return {
        name: uniqueName(`${prefix}${id}`),
        title: name,
        description: [description, ...examples.slice(0, 5).map((example) => `Example: ${example}`)]
          .join('\n')
          .slice(0, 4_000),
        client,
        skill: id,
        input: compileSchema(inputSchema, `the input of the skill "${id}"`) ?? compile({ type: 'object' }),
        output: compileSchema(output, `the output of the skill "${id}"`),
        toInput: (args) => (input ? toData(isWrapped ? args.input : args) : `${args.text}`),
      }
    })
    return [...tools, answer]
  }

  return agents.flatMap(toolsOf)
}

type Compile = (schema: JsonSchemaType) => StandardSchemaWithJSON

function answerTool(client: Client, compile: Compile): Omit<SkillTool, 'name'> {
  const { name } = client.card
  return {
    title: `Answer ${name}`,
    description: `Answers a question of a task of ${name}, so that the task continues. Use it only when a result says so.`,
    client,
    skill: undefined,
    input: compile({
      type: 'object',
      properties: {
        taskId: { type: 'string', description: 'The id of the task that asks.' },
        answer: { type: 'string', description: 'The answer.' },
      },
      required: ['taskId', 'answer'],
    }),
    output: undefined,
    toInput: (args) => `${args.answer}`,
  }
}

const textSchema: JsonObject = {
  type: 'object',
  properties: { text: { type: 'string', description: 'The message to the agent.' } },
  required: ['text'],
}

function toData(data: Json | undefined): Input {
  return { data: data ?? null, mediaType: 'application/json' }
}
