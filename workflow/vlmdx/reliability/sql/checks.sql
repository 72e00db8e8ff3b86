-- Every row of the result is a broken promise of an earlier stage; the run stops on the first of them.

CREATE TABLE problems AS
WITH found AS (
    SELECT 1 AS rank, 'the same item stands in the item files twice' AS problem, item_id,
           NULL AS corruption, NULL AS severity, [] AS files
    FROM items GROUP BY item_id HAVING count(*) > 1
    UNION ALL
    SELECT 2, 'an item of fewer than two options has no normalised entropy; it must be rejected at import', item_id,
           NULL, NULL, []
    FROM items WHERE coalesce(k, 0) < 2
    UNION ALL
    SELECT 3, 'option ' || option_index || ' was scored ' || count(*) || ' times; remove old or copied shards', item_id,
           corruption, severity, list(DISTINCT filename ORDER BY filename)
    FROM scores GROUP BY item_id, corruption, severity, option_index HAVING count(*) > 1
    UNION ALL
    SELECT 4, 'the item is not among the items', item_id, NULL, NULL, list(DISTINCT filename ORDER BY filename)
    FROM scores ANTI JOIN items USING (item_id) GROUP BY item_id
    UNION ALL
    SELECT 5, 'this corruption at this severity is not configured; the shard is of an earlier configuration',
           min(item_id), corruption, severity, list(DISTINCT filename ORDER BY filename)
    FROM scores
    WHERE NOT (corruption = 'clean' AND severity = 0)
      AND NOT (corruption IN (SELECT corruption FROM corruptions) AND severity IN (SELECT severity FROM severities))
    GROUP BY corruption, severity
    UNION ALL
    SELECT 6, options || ' options were scored (index ' || first_index || ' to ' || last_index || '), the item has '
           || k, item_id, corruption, severity, [filename]
    FROM answers JOIN items USING (item_id)
    WHERE options <> k OR first_index <> 0 OR last_index <> k - 1
    UNION ALL
    SELECT 7, 'is_gold marks option ' || coalesce(gold::VARCHAR, 'none') || ' (' || n_gold || ' marked), the item says '
           || coalesce(answer::VARCHAR, 'none'), item_id, corruption, severity, [filename]
    FROM answers JOIN items USING (item_id)
    WHERE gold IS DISTINCT FROM answer OR n_gold <> (answer IS NOT NULL)::INT
    UNION ALL
    SELECT 8, n_chosen || ' options are chosen, exactly one must be', item_id, corruption, severity, [filename]
    FROM answers WHERE usable AND reason IS NULL AND n_chosen <> 1
    UNION ALL
    SELECT 9, 'the chosen option has not the largest probability', item_id, corruption, severity, [filename]
    FROM answers WHERE usable AND reason IS NULL AND confidence - p_chosen > 1e-6
    UNION ALL
    SELECT 10, 'the probabilities of the options sum to ' || total, item_id, corruption, severity, [filename]
    FROM answers WHERE usable AND reason IS NULL AND abs(total - 1) > 1e-4
)
SELECT problem, item_id, corruption, severity, files FROM found
ORDER BY rank, item_id, corruption, severity LIMIT 5;
