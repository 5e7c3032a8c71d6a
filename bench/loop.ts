import type { LanguageModelV4Message, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'
import { createAgentLoop, localTool } from 'parley-a2a/loop'
import { z } from 'zod'
import { interleave, median } from './measure.ts'
import type { Answer, Question } from './report.ts'

const rounds = 15
const steps = 50
const deltas = 2_000
/** How often each is done for one sample. */
const times = 40
const warmUp = 6

/** What a loop costs against one that is written by hand over the same model and tool, and speaks no A2A. */
export const loop: Question = { name: 'loop', ask: measure }

type Part = LanguageModelV4StreamPart

const usage = {
  inputTokens: { total: 10, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: undefined, reasoning: undefined },
}
const finish = (unified: 'stop' | 'tool-calls'): Part => ({
  type: 'finish',
  usage,
  finishReason: { unified, raw: undefined },
})

/** Calls the tool so often, and then says so many words. */
function modelOf(calls: number, words: number) {
  let step = 0
  const call = (): Part[] => [
    { type: 'tool-call', toolCallId: `call-${step}`, toolName: 'add', input: '{"a":1,"b":2}' },
    finish('tool-calls'),
  ]
  const say = (): Part[] => [
    ...Array.from({ length: words }, (): Part => ({ type: 'text-delta', id: '1', delta: 'word ' })),
    finish('stop'),
  ]
  return new MockLanguageModelV4({
    doStream: async () => {
      const chunks = step++ < calls ? call() : say()
      return { stream: simulateReadableStream({ chunks, chunkDelayInMs: null, initialDelayInMs: null }) }
    },
  })
}

const input = z.object({ a: z.number(), b: z.number() })
const add = ({ a, b }: z.infer<typeof input>) => ({ sum: a + b })
const tool = localTool({ name: 'add', description: 'Adds.', input, run: add })

async function ours(calls: number, words: number): Promise<number> {
  const model = modelOf(calls, words)
  const { invoke } = createAgentLoop({ model, tools: [tool], maxSteps: calls + 1, maxToolCalls: calls + 1 })
  let told = 0
  const ids = { taskId: 'task', contextId: 'context' }
  await new Promise<void>((complete, error) => {
    const next = (event: { readonly type: string }) => void (event.type === 'artifact' && told++)
    invoke([{ text: 'go' }], ids).subscribe({ next, complete, error })
  })
  return told
}

/** As an author would write it who needs nothing else. */
async function byHand(calls: number, words: number): Promise<number> {
  const model = modelOf(calls, words)
  const tools = [{ type: 'function' as const, name: 'add', description: 'Adds.', inputSchema: z.toJSONSchema(input) }]
  const { signal } = new AbortController()
  const prompt: LanguageModelV4Message[] = [{ role: 'user', content: [{ type: 'text', text: 'go' }] }]
  let told = 0
  const onDelta = (_: string) => void told++
  for (;;) {
    const { stream } = await model.doStream({ prompt: [...prompt], tools: tools as never, abortSignal: signal })
    const called: Extract<Part, { type: 'tool-call' }>[] = []
    let text = ''
    for await (const part of stream) {
      if (part.type === 'text-delta') {
        text += part.delta
        onDelta(part.delta)
      } else if (part.type === 'tool-call') called.push(part)
      else if (part.type === 'error') throw part.error
    }
    if (called.length === 0) return told + Math.sign(text.length)
    prompt.push({
      role: 'assistant',
      content: called.map(({ toolCallId, toolName, input: given }) => {
        return { type: 'tool-call', toolCallId, toolName, input: JSON.parse(given) }
      }),
    })
    const content = await Promise.all(
      called.map(async ({ toolCallId, toolName, input: given }) => {
        const checked = await input.safeParseAsync(JSON.parse(given))
        const output = checked.success
          ? { type: 'json' as const, value: add(checked.data) }
          : { type: 'error-text' as const, value: checked.error.message }
        return { type: 'tool-result' as const, toolCallId, toolName, output }
      }),
    )
    prompt.push({ role: 'tool', content })
  }
}

interface Sample {
  readonly ours: number
  readonly byHand: number
}

/** Microseconds of CPU for each of so many. In turns, so that what disturbs the one disturbs the other. */
async function compare(calls: number, words: number, of: number): Promise<Sample> {
  let [mine, theirs] = [0, 0]
  for (let n = 0; n < times; n++) {
    mine += await cost(() => ours(calls, words), words)
    theirs += await cost(() => byHand(calls, words), words)
  }
  return { ours: mine / (of * times), byHand: theirs / (of * times) }
}

async function cost(work: () => Promise<number>, expected: number): Promise<number> {
  const before = process.cpuUsage()
  const told = await work()
  const { user, system } = process.cpuUsage(before)
  if (told < expected) throw new Error(`expected ${expected} deltas, got ${told}`)
  return user + system
}

async function measure(): Promise<Answer> {
  const candidates = { step: () => compare(steps, 1, steps), delta: () => compare(0, deltas, deltas) }
  for (let n = 0; n < warmUp; n++) for (const run of Object.values(candidates)) await run()
  const measured = await interleave(rounds, candidates)
  const verdict = (what: string, name: keyof typeof candidates) => ({
    what,
    values: measured.map((round) => round[name].ours / round[name].byHand),
    unit: 'x' as const,
    target: { atMost: 1.5 },
  })
  const detail = (what: string, name: keyof typeof candidates) => ({
    what,
    'ours, CPU µs': Number(median(measured.map((round) => round[name].ours)).toPrecision(3)),
    'by hand, CPU µs': Number(median(measured.map((round) => round[name].byHand)).toPrecision(3)),
  })
  return {
    title: 'A loop over a model and a tool, CPU against one that is written by hand without A2A',
    verdicts: [verdict('a step with a call of a tool', 'step'), verdict('a streamed delta', 'delta')],
    details: [detail('a step', 'step'), detail('a delta', 'delta')],
  }
}
