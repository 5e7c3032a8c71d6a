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
  /** The only one of that name. */
  readonly one: (name: string) => ReadableSpan
  /** From a span up to where its trace begins, by their names. */
  readonly pathOf: (span: ReadableSpan) => readonly string[]
}

/** The real SDK, which keeps what it is told; gone after the test. */
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
    all().find((each) => each.spanContext().spanId === span.parentSpanContext?.spanId)
  return {
    all,
    one(name) {
      const [found, ...others] = all().filter((span) => span.name === name)
      if (!found || others.length > 0) {
        throw new Error(`${1 + others.length} spans "${name}" among: ${all().map((span) => span.name)}`)
      }
      return found
    },
    pathOf(span) {
      const path = [span.name]
      for (let at = parentOf(span); at; at = parentOf(at)) path.push(at.name)
      return path
    },
  }
}
