/**
 * The frameworks that adapters load on first use. They are not installed here: `test/frameworks` has them, and their types.
 */
declare module '@langchain/langgraph'
declare module '@openai/agents'
declare module '@mastra/core'
declare module '@mastra/core/storage'
declare module '@google/adk'
declare module '@mastra/core/tools'
declare module '@langchain/core/tools'
declare module '@strands-agents/sdk'
