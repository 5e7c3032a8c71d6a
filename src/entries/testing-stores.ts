/** Suites for stores of your own, as data: the behaviour that task logs and other stores must have. Runs in any test runner. */

export { limitStoreTests } from '../testing/stores/limit-store.ts'
export { pushStoreTests, sharedPushStoreTests } from '../testing/stores/push-store.ts'
export { type RegistryTestOptions, registryStoreTests } from '../testing/stores/registry-store.ts'
export type { StoreTest, TestStorage } from '../testing/stores/store-test.ts'
export { operatorLogTests } from '../testing/stores/task-log/operator.ts'
export { sharedTaskLogTests } from '../testing/stores/task-log/sharing.ts'
export { taskLogTests } from '../testing/stores/task-log.ts'
