import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { onTestFinished } from 'vitest'

export interface Spans {
  readonly all: () => readonly ReadableSpan[]
  /** The only span of that name. */
  readonly named: (name: string) => ReadableSpan
  /** The names from a span up to the root of its trace. */
  readonly pathOf: (span: ReadableSpan) => readonly string[]
}

/** Records spans with the real SDK. Removed after the test. */
export function recordSpans(): Spans {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  trace.setGlobalTracerProvider(provider)
  onTestFinished(async () => {
    context.disable()
    trace.disable()
    await provider.shutdown()
  })
  const all = () => exporter.getFinishedSpans()
  const parentOf = (span: ReadableSpan) =>
    all().find((candidate) => candidate.spanContext().spanId === span.parentSpanContext?.spanId)
  return {
    all,
    named(name) {
      const [first, ...others] = all().filter((span) => span.name === name)
      if (!first || others.length > 0) {
        throw new Error(`${1 + others.length} spans "${name}" among: ${all().map((span) => span.name)}`)
      }
      return first
    },
    pathOf(span) {
      const path = [span.name]
      for (let at = parentOf(span); at; at = parentOf(at)) path.push(at.name)
      return path
    },
  }
}
