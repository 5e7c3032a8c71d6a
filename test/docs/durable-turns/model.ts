// model.ts
/** The model of the poem example. */
export const model = {
  async *stream(prompt: string) {
    yield* prompt.split(/(?<= )/)
  },
}
