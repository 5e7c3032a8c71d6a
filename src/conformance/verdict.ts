/** Thrown by a check when the agent breaks the rule. */
export class RuleViolation extends Error {
  override readonly name = 'RuleViolation'
}

/** Thrown by a check when the rule cannot be judged. It never counts as passed. */
export class NotMeasured extends Error {
  override readonly name = 'NotMeasured'
}

/** Throws a `RuleViolation` unless the condition holds. */
export function expectThat(condition: unknown, problem: string): asserts condition {
  if (!condition) throw new RuleViolation(problem)
}

/** Throws a `NotMeasured` unless the condition holds. */
export function measureIf(condition: unknown, reason: string): asserts condition {
  if (!condition) throw new NotMeasured(reason)
}
