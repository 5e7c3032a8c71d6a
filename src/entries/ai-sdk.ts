/** Serves agents of the AI SDK (`ai`). Makes other agents tools of theirs. */

export type { RemoteTarget } from '../core/client/remote-tool.ts'
export {
  type AiSdkAgent,
  type AiSdkOptions,
  type AiSdkStream,
  type AiSdkTool,
  aiSdk,
  answerQuestion,
  asTool,
  isQuestionAsked,
} from '../integrations/agents/ai-sdk.ts'
export type { AsToolOptions } from '../integrations/agents/as-tool.ts'
export type { AdapterOptions, RemoteQuestion } from '../integrations/agents/framework-adapter.ts'
