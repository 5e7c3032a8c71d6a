const due: (() => void)[] = []

/**
 * Runs it in the next turn of the event loop, together with whatever else was due then. Requests that came together are
 * so worked on side by side, step by step, which keeps the code of each step warm.
 */
export function inNextTurn(work: () => void): void {
  if (due.push(work) === 1) setImmediate(runDue)
}

function runDue(): void {
  for (const work of due.splice(0)) work()
}

let nextOne: Promise<void> | undefined

/** The next turn of the event loop. Answers that wait for it leave in as few writes as there are connections. */
export function nextTurn(): Promise<void> {
  nextOne ??= new Promise((resolve) => {
    inNextTurn(() => {
      nextOne = undefined
      resolve()
    })
  })
  return nextOne
}
