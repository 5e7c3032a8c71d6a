/**
 * One question at a time goes to the caller. Each has a number, given when it comes up and stored with it, so that a
 * turn that is resumed asks in the same order.
 */
export interface QuestionQueue {
  ticket(): number
  /** One that was given before a restart. */
  saw(ticket: number): void
  inTurn<T>(ticket: number, ask: () => Promise<T>): Promise<T>
}

export function createQuestionQueue(): QuestionQueue {
  let given = 0
  let served = 0
  const done = new Set<number>()
  const waiting = new Map<number, () => void>()

  function finish(ticket: number): void {
    done.add(ticket)
    while (done.delete(served)) served++
    waiting.get(served)?.()
  }

  return {
    ticket: () => given++,
    saw(ticket) {
      given = Math.max(given, ticket + 1)
    },
    async inTurn(ticket, ask) {
      if (ticket > served) await new Promise<void>((resolve) => waiting.set(ticket, resolve))
      try {
        return await ask()
      } finally {
        waiting.delete(ticket)
        finish(ticket)
      }
    },
  }
}
