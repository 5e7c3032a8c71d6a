/** What the poems of the guide are made with. */
export const model = {
  async *stream(prompt: string) {
    yield* prompt.split(' ')
  },
}
