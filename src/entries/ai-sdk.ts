/** Serves agents of the AI SDK (`ai`). */

export { type AiSdkAgent, type AiSdkOptions, type AiSdkStream, aiSdk } from '../integrations/agents/ai-sdk.ts'
export type { AdapterOptions } from '../integrations/agents/framework-adapter.ts'
