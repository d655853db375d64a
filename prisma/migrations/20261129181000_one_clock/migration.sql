-- One clock: what times are compared with is the database's, so the database sets them, at the moment and not as of the
-- beginning of the transaction. Workers' clocks may be off by any amount.
DO $$
DECLARE
  one record;
BEGIN
  FOR one IN
    SELECT table_name, column_name FROM information_schema.columns
    WHERE table_schema = current_schema() AND column_default = 'now()'
      AND table_name <> '_prisma_migrations'
  LOOP
    EXECUTE format('ALTER TABLE %I ALTER COLUMN %I SET DEFAULT clock_timestamp()', one.table_name, one.column_name);
  END LOOP;
END $$;
