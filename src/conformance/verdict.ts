/** Thrown by a check when the agent breaks the rule. */
export class Violation extends Error {
  override readonly name = 'Violation'
}

/** Thrown by a check when the rule cannot be judged. It never counts as passed. */
export class NotMeasured extends Error {
  override readonly name = 'NotMeasured'
}

/** Throws a `Violation` unless the condition holds. */
export function expectThat(condition: unknown, problem: string): asserts condition {
  if (!condition) throw new Violation(problem)
}

/** Throws a `NotMeasured` unless the condition holds. */
export function measureIf(condition: unknown, reason: string): asserts condition {
  if (!condition) throw new NotMeasured(reason)
}
